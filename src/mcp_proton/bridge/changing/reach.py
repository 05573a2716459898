"""Reach: what every change on Bridge goes through and looks things up in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.bridge.changing.occurrences import Occurrences
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.homes import Homes
    from mcp_proton.imap.protocol.pool import Pool


@dataclass(frozen=True, slots=True)
class Reach:
    """`resolve` gives the mailbox of a handle, `homes` that of a kind, `occurrences` where else a message is."""

    pool: Callable[[], Pool]
    resolve: Callable[[Handle], Awaitable[Mailbox]]
    homes: Homes
    occurrences: Occurrences
