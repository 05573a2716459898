"""AUTH PLAIN and LOGIN (RFC 4954): the exchange up to a name and a password."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from mcp_proton.simulator.smtp.replies import Reply, ReplyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MECHANISMS = ("PLAIN", "LOGIN")
_FAILED = (454, "4.7.0")


class Exchange:
    """Asks a client. `ask` sends a reply and returns the client's line."""

    def __init__(self, ask: Callable[[Reply], Awaitable[str]], initial: str | None) -> None:
        self._ask = ask
        self._initial = initial

    async def credentials(self, mechanism: str) -> tuple[str, str]:
        """Name and password; raises ReplyError when the client gives up or talks nonsense."""
        if mechanism == "LOGIN":
            name = await self._answer("Username:")
            return name.decode("utf-8", "surrogateescape"), (await self._answer("Password:")).decode("latin-1")
        parts = (await self._answer("")).split(b"\0")
        if len(parts) != 3:
            raise ReplyError(*_FAILED, "Invalid response")
        identity, name, password = parts
        if identity not in (b"", name):
            raise ReplyError(*_FAILED, "Identities not supported")
        return name.decode("utf-8", "surrogateescape"), password.decode("latin-1")

    async def _answer(self, challenge: str) -> bytes:
        if self._initial is not None:
            given, self._initial = self._initial, None
            return b"" if given == "=" else _decoded(given)
        line = await self._ask(Reply(334, "", base64.b64encode(challenge.encode()).decode()))
        if line == "*":
            raise ReplyError(501, "5.0.0", "Negotiation cancelled")
        return _decoded(line)


def _decoded(line: str) -> bytes:
    try:
        return base64.b64decode(line.encode("latin-1", "replace"), validate=True)
    except (binascii.Error, ValueError):
        raise ReplyError(*_FAILED, "Invalid base64 data") from None
