"""Where an account's mail leaves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.imap.limits import SubmissionTiming

if TYPE_CHECKING:
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint


@dataclass(frozen=True, slots=True)
class Outlet:
    """The SMTP server and its login, and the addresses (lower case) that the owner configured as senders."""

    endpoint: Endpoint
    credentials: Credentials
    senders: frozenset[str] = frozenset()
    timing: SubmissionTiming = field(default_factory=SubmissionTiming)
