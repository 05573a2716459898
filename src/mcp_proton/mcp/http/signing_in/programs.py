"""Programs: under which client ids they are known, and where the answer to each may go.

All that register are one client. One that describes itself by a document at an https address (OAuth Client ID Metadata
Document) is known by that address, where the owner named it; nobody else's is ever fetched.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.redirects import is_redirect
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.remote.web import Guarded

from .answers import Unfit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.config.signing_in import SigningIn

KEEP = 3_600.0
OCTETS = 16 << 10
SECONDS = 10.0


class Programs:
    """Knows programs by `rules`. `fetch` gets a document under guard."""

    def __init__(
        self,
        rules: SigningIn,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = rules
        self._fetch = fetch or fetched
        self._now = now
        self._found: dict[str, tuple[float, Sequence[str]]] = {}

    def are_known(self, client_id: str) -> bool:
        """Whether there are programs of this id."""
        return client_id == self._rules.client_id or client_id in self._rules.documents

    async def redirects(self, client_id: str) -> Sequence[str]:
        """Return where answers to a program may go. Raises `Unfit` for one nobody knows, or whose document will not do."""
        if client_id == self._rules.client_id:
            return self._rules.redirects
        if client_id not in self._rules.documents:
            raise Unfit("invalid_client", "no client is known by this client_id")
        at, found = self._found.get(client_id, (float("-inf"), ()))
        if self._now() - at >= KEEP:
            found = await self._described(client_id)
            self._found[client_id] = (self._now(), found)
        return found

    async def _described(self, client_id: str) -> Sequence[str]:
        try:
            told = json.loads(await self._fetch(client_id))
        except (MailError, ValueError, RecursionError):
            raise _unfit("cannot be had") from None
        if not isinstance(told, dict) or told.get("client_id") != client_id:
            raise _unfit("is about another client")
        if told.get("token_endpoint_auth_method", "none") != "none":
            raise _unfit("wants another way to prove itself than PKCE")
        found = told.get("redirect_uris")
        if not isinstance(found, list) or not all(isinstance(one, str) and is_redirect(one) for one in found):
            raise _unfit("names no address to which an answer can go")
        return found


async def fetched(address: str, guarded: Guarded | None = None) -> bytes:
    """Return a document from the public internet: small, in time, without detours."""
    guarded = guarded or Guarded(most=OCTETS, seconds=SECONDS)
    async with guarded.open(WebAddress.parse(address), OCTETS) as file:
        return b"".join([chunk async for chunk in file.chunks])


def _unfit(why: str) -> Unfit:
    return Unfit("invalid_client", f"the document that describes this client {why}")


def metadata(rules: SigningIn) -> dict[str, Any]:
    """Return what programs learn of this."""
    return {"client_id_metadata_document_supported": True} if rules.documents else {}
