"""The addresses an account sends as: its login name, and what its owner configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Identity
from mcp_proton.domain.role_addresses import is_role_address

if TYPE_CHECKING:
    from collections.abc import Sequence


def identities(username: str, configured: Sequence[Identity]) -> list[Identity]:
    """The configured ones as they are, after the login name where that is an address and not among them.

    An address of an office (`postmaster`) is one only if it is configured (J-137).
    """
    known = {one.email.lower() for one in configured}
    login = [Identity(username)] if "@" in username and not is_role_address(username) else []
    return [*(one for one in login if one.email.lower() not in known), *configured]


def own(username: str, configured: Sequence[Identity]) -> list[str]:
    """The addresses by which a sent mail is told from a received one."""
    return [one for one in (username, *(one.email for one in configured)) if "@" in one]
