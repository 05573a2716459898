"""How an account is, in words for people: never a server's own text, which may hold paths, addresses and passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Health

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.domain.errors import MailError


def trouble(error: MailError, advice: Mapping[str, str]) -> Health:
    """What went wrong. `advice` has, by code, what to do about it on this kind of server."""
    return Health(connected=False, code=error.code, why=error.message, next=advice.get(error.code) or error.next)


ADVICE: Mapping[str, str] = {
    "connection_refused": "check that the mail server runs and that host and port are right; `mcp-proton doctor` tries them",
    "host_unknown": "check the host's name in the configuration and the network",
    "auth_failed": "ask the owner to run `mcp-proton doctor`: the password may have changed",
    "untrusted_server": "nothing was sent; ask the owner to run `mcp-proton doctor` and compare the fingerprint",
}
