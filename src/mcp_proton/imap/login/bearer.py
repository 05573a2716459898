"""Logging in with an access token: OAUTHBEARER (RFC 7628) and Google's XOAUTH2, over IMAP and SMTP alike.

What a server has against a token it says in a challenge of JSON, which has to be answered before it ends the exchange.
Only its status and the scope it names are told, and those only in characters that scopes are made of.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed, Invalid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from mcp_proton.imap.login.access_tokens import AccessTokens
    from mcp_proton.imap.login.endpoint import Endpoint

LONGEST_CHALLENGE = 16 * 1024
_SCOPE = re.compile(r"[A-Za-z0-9:/._-]{1,120}(?: [A-Za-z0-9:/._-]{1,120}){0,4}")
_SAID = re.compile(r"[\x21-\x7e\x80-\U0010ffff]+")


class Mechanism(Enum):
    """The value is its SASL name."""

    OAUTHBEARER = "OAUTHBEARER"
    XOAUTH2 = "XOAUTH2"

    def first(self, username: str, token: str, endpoint: Endpoint) -> bytes:
        """The client's message, in base64. Raises Invalid for a name that would say more than a name."""
        if not _SAID.fullmatch(username):
            raise Invalid("the login name holds a blank or a control character")
        if self is Mechanism.XOAUTH2:
            said = f"user={username}\x01auth=Bearer {token}\x01\x01"
        else:
            name = username.replace("=", "=3D").replace(",", "=2C")
            place = f"host={endpoint.host}\x01port={endpoint.port}"
            said = f"n,a={name},\x01{place}\x01auth=Bearer {token}\x01\x01"
        return base64.b64encode(said.encode())

    @property
    def after_challenge(self) -> bytes:
        """What is answered to the challenge that says why not, so that the server may end (RFC 7628 §3.2.3)."""
        return base64.b64encode(b"\x01") if self is Mechanism.OAUTHBEARER else b""


def choose(offered: Collection[str]) -> Mechanism | None:
    """The standard's one where it is offered; None where tokens are not taken. `offered` are names in capitals."""
    return next((one for one in Mechanism if one.value in offered), None)


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server has against a token. `scope` is what it wants one for, where the token's scope is what it minds."""

    status: str = ""
    scope: str = ""

    @property
    def of_scope(self) -> bool:
        """Another token of the same kind would not help."""
        return self.status in {"insufficient_scope", "403"}

    @classmethod
    def read(cls, text: bytes) -> Challenge:
        """Base64 of JSON; what is neither says nothing."""
        if len(text) > LONGEST_CHALLENGE:
            return cls()
        try:
            told = json.loads(base64.b64decode(text.strip(), validate=True))
        except (binascii.Error, ValueError, RecursionError):
            return cls()
        if not isinstance(told, dict):
            return cls()
        return cls(_word(told.get("status")), _word(told.get("scope")))

    def refusal(self, what: str = "login") -> AuthFailed:
        """The error for people."""
        wanted = f"; it wants one for the scope `{self.scope}`" if self.scope else ""
        if self.of_scope:
            return AuthFailed(
                f"the mail server refused the {what}: the access token is for something else{wanted}",
                next="ask the owner to sign in again, with that scope",
            )
        return AuthFailed(
            f"the mail server refused the {what}: it takes the access token no more, or never did{wanted}",
            next="ask the owner to run `mcp-proton doctor`; a new sign-in may be needed",
        )


async def shown(tokens: AccessTokens, show: Callable[[str], Awaitable[Challenge | None]]) -> Challenge | None:
    """Show a token by `show`, which says what the server has against it. One that is refused is replaced once, since its
    end may have been misjudged. None: it was taken."""
    token = await tokens.current()
    challenge = await show(token)
    if challenge is None or challenge.of_scope:
        return challenge
    another = await tokens.instead_of(token)
    return challenge if another is None else await show(another)


def _word(value: object) -> str:
    return value if isinstance(value, str) and _SCOPE.fullmatch(value) else ""
