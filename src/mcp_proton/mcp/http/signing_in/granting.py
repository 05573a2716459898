"""Granting: a code becomes a sign-in, a refresh token the next one, and a program may end what it was given (RFC 7009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.signing_in import Over
from mcp_proton.mcp.http.signing_in import access, forms
from mcp_proton.mcp.http.signing_in.answers import Unfit, given
from mcp_proton.mcp.http.watching import write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.domain.signing_in import SignIn, SignIns
    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.signing_in.codes import Codes
    from mcp_proton.mcp.http.signing_in.desk import Desk


class Granting:
    """The endpoints that programs ask themselves."""

    def __init__(self, desk: Desk, tokens: AccessTokens, codes: Codes) -> None:
        self._desk = desk
        self._tokens = tokens
        self._codes = codes

    async def token(self, request: Request) -> Response:
        """Give tokens for a code or for a refresh token (RFC 6749 §4.1.3, §6)."""
        fields = await forms.form(request)
        self._desk.check(fields)
        match fields.get("grant_type"):
            case "authorization_code":
                return await self._for_code(fields)
            case "refresh_token":
                return await self._for_refresh(fields)
            case _:
                raise Unfit("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")

    async def revoke(self, request: Request) -> Response:
        """End the sign-in of a token. A token that is nobody's is as good as ended."""
        fields = await forms.form(request)
        token = fields.get("token", "")
        shown = self._tokens.read(token)
        found = await self._sign_ins.of(token) if shown is None else await self._sign_ins.check(shown.sign_in)
        if found is not None:
            await self._sign_ins.end(id=found.id)
            write("sign_in_ended", client=found.client, sign_in=found.id, reason="revoked")
        return given({})

    async def _for_code(self, fields: Mapping[str, str]) -> Response:
        granted = self._codes.look(fields.get("code", ""))
        if granted is None:
            raise _no_grant("the code is not good (any more)")
        if granted.spent:
            await self._copied(granted.sign_in)
            raise _no_grant("the code was used already")
        granted.spent = True  # whatever comes of it: nobody tries a second verifier
        if not granted.asked.is_by(fields):
            raise _no_grant("the code was asked for by somebody else")
        if granted.client not in await self._desk.clients():
            raise _no_grant("the owner lets this client in no more")
        made, refresh = await self._sign_ins.begin(granted.client, granted.asked.program, granted.scopes)
        granted.sign_in = made.id
        write("sign_in_begun", client=made.client, sign_in=made.id, program=made.program)
        return self._tokens_for(made, made.scopes, refresh, granted.asked.client_id)

    async def _for_refresh(self, fields: Mapping[str, str]) -> Response:
        shown = fields.get("refresh_token", "")
        known = await self._sign_ins.of(shown)
        scopes = known.scopes if known is not None else ()
        wanted = tuple(dict.fromkeys(fields.get("scope", "").split())) or scopes
        if known is not None and not set(wanted) <= set(scopes):
            raise Unfit("invalid_scope", "this is more than was granted")
        if known is not None and known.client not in await self._desk.clients():
            raise _no_grant("the owner lets this client in no more")
        renewed = await self._sign_ins.renew(shown)
        if isinstance(renewed, Over):
            if renewed is not Over.UNKNOWN:
                write("sign_in_ended", reason=renewed.value)
            raise _no_grant("the refresh token is not good (any more); sign in again")
        write("sign_in_renewed", client=renewed[0].client, sign_in=renewed[0].id)
        client_id = fields.get("client_id", self._desk.rules.client_id)
        return self._tokens_for(renewed[0], wanted, renewed[1], client_id)

    async def _copied(self, sign_in: str | None) -> None:
        """End what a code gave that was shown twice: one of the two who showed it stole it (RFC 6749 §4.1.2)."""
        if sign_in is not None and await self._sign_ins.end(id=sign_in):
            write("sign_in_ended", sign_in=sign_in, reason=Over.REUSED.value)

    def _tokens_for(self, made: SignIn, scopes: Sequence[str], refresh: str, client_id: str) -> Response:
        token = self._tokens.issue(made.id, scopes, client_id)
        return given(
            {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": access.SECONDS,
                "refresh_token": refresh,
                "scope": " ".join(scopes),
            }
        )

    @property
    def _sign_ins(self) -> SignIns:
        return self._desk.running.sign_ins


def _no_grant(why: str) -> Unfit:
    return Unfit("invalid_grant", why)
