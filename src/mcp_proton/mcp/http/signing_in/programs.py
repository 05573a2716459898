"""Programs: under which client ids they are known, and where the answer to each may go.

All that register are one client. Nothing is kept of them: where an address is allowed by its scheme alone, the client id
that registration hands out carries its digest, and only answers to that id go there (RFC 8252 §8.4).

One that describes itself by a document at an https address (OAuth Client ID Metadata Document) is known by that address,
where the owner named it; nobody else's is ever fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.redirects import is_named, is_of_a_scheme, is_redirect
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.mcp.http.signing_in.answers import Unfit
from mcp_proton.remote.web import Guarded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.config.signing_in import SigningIn

KEEP = 3_600.0
OCTETS = 16 << 10
SECONDS = 10.0
MOST_OF_A_SCHEME = 4
_PINS = re.compile(rf"(?:\.[A-Za-z0-9_-]{{22}}){{1,{MOST_OF_A_SCHEME}}}")


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
        return self._pins(client_id) is not None or client_id in self._rules.documents

    def register(self, redirects: Sequence[str]) -> str | None:
        """Return the client id of a program whose answers go there; None where the owner does not allow that."""
        rules = self._rules.redirects
        others = [one for one in dict.fromkeys(redirects) if not is_named(one, rules)]
        if len(others) > MOST_OF_A_SCHEME or not all(is_of_a_scheme(one, rules) for one in others):
            return None
        return "".join([self._rules.client_id, *(f".{_pin(one)}" for one in others)])

    async def may_answer(self, client_id: str, redirect: str) -> bool:
        """Whether an answer to a program may go there.

        Raises `Unfit` for a program nobody knows, or one whose document will not do.
        """
        pins = self._pins(client_id)
        if pins is None:
            return is_named(redirect, await self._redirects(client_id))
        rules = self._rules.redirects
        return is_named(redirect, rules) or (is_of_a_scheme(redirect, rules) and _pin(redirect) in pins)

    def _pins(self, client_id: str) -> Sequence[str] | None:
        """Return the digests that an id carries; None where it is not the id of those who register."""
        rest = client_id.removeprefix(self._rules.client_id)
        if client_id == self._rules.client_id:
            return ()
        return rest.split(".")[1:] if rest != client_id and _PINS.fullmatch(rest) else None

    async def _redirects(self, client_id: str) -> Sequence[str]:
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


def _pin(address: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(address.encode()).digest()[:16]).decode().rstrip("=")


def _unfit(why: str) -> Unfit:
    return Unfit("invalid_client", f"the document that describes this client {why}")


def metadata(rules: SigningIn) -> dict[str, Any]:
    """Return what programs learn of this."""
    return {"client_id_metadata_document_supported": True} if rules.documents else {}
