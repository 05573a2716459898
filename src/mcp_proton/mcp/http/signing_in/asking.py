"""Asking: what a program wants when it sends a person's browser to `/authorize` (RFC 6749 §4.1.1, RFC 7636, RFC 8707)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.redirects import private_scheme, program
from mcp_proton.mcp.http.signing_in.answers import Unfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.mcp.http.signing_in.programs import Programs
    from mcp_proton.mcp.http.signing_in.site import Site

LONGEST_STATE = 4_096
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,128}( [\x21\x23-\x5b\x5d-\x7e]{1,128}){0,31}")
_PRINTABLE = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True)
class Asked:
    """A request that can be met. `program` is where the answer goes, as a person may be shown it."""

    client_id: str
    redirect: str
    state: str | None
    challenge: str
    scopes: tuple[str, ...]
    nonce: str | None

    @property
    def program(self) -> str:
        """Who asks, as far as the redirect tells; nothing a program says of itself is believed."""
        return program(self.redirect)

    @property
    def scheme(self) -> str | None:
        """The scheme by which a program on the person's device is opened with the answer; None where it goes over the web."""
        return private_scheme(self.redirect)

    def is_by(self, fields: Mapping[str, str]) -> bool:
        """Whether whoever shows the code that came of this is the program that asked (RFC 7636 §4.6)."""
        verifier = fields.get("code_verifier", "")
        if not (43 <= len(verifier) <= 128 and verifier.isascii()):
            return False
        proof = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        same_place = fields.get("redirect_uri", self.redirect) == self.redirect
        same_client = fields.get("client_id", self.client_id) == self.client_id
        return same_place and same_client and hmac.compare_digest(proof, self.challenge)


async def read(fields: Mapping[str, str], programs: Programs, site: Site) -> Asked:
    """Read an authorization request.

    Raises `Unfit`; until client and redirect are known to be good it names no redirect: an answer goes nowhere then.
    """
    client_id, redirect = fields.get("client_id", ""), fields.get("redirect_uri", "")
    if not await programs.may_answer(client_id, redirect):
        raise Unfit("invalid_request", "the owner allows no answer to this redirect_uri")
    state = fields.get("state")
    if state is not None and (len(state) > LONGEST_STATE or not _PRINTABLE.fullmatch(state)):
        raise Unfit("invalid_request", "the state is too long, or holds what a state may not", redirect=redirect)

    def unfit(error: str, description: str) -> Unfit:
        return Unfit(error, description, redirect=redirect, state=state)

    if fields.get("response_type") != "code":
        raise unfit("unsupported_response_type", "response_type must be code")
    if fields.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(fields.get("code_challenge", "")):
        raise unfit("invalid_request", "a code_challenge by S256 is needed (PKCE)")
    scope = fields.get("scope", "").strip()
    if scope and not _SCOPE.fullmatch(scope):
        raise unfit("invalid_scope", "the scope cannot be read")
    if "resource" in fields and not site.is_resource(fields["resource"]):
        raise unfit("invalid_target", "the resource is not this service")
    nonce = fields.get("nonce")
    if nonce is not None and (len(nonce) > LONGEST_STATE or not _PRINTABLE.fullmatch(nonce)):
        raise unfit("invalid_request", "the nonce cannot be read")
    scopes = tuple(dict.fromkeys(scope.split()))
    return Asked(client_id, redirect, state, fields["code_challenge"], scopes, nonce)
