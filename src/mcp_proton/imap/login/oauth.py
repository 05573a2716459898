"""Renewing access tokens at a token endpoint (RFC 6749 §6): a refresh token in, an access token out.

A server may hand out another refresh token with it; that one is stored before the access token is used, since the old
one may be void from then on. Another process of ours may have done so meanwhile: a refresh token that is refused is
looked up again before anybody is told. Answers are bounded in time and size; no redirect, no proxy of the environment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import httpx2

from mcp_proton.domain.errors import AuthFailed, MailError, Unavailable
from mcp_proton.imap.login import access_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_proton.imap.login.access_tokens import Issued

SECONDS = 30.0
OCTETS = 256 * 1024
LOG = logging.getLogger(__name__)
_REFRESH = re.compile(r"[\x21-\x7e]{1,8192}")
"""a refresh token that can be a line of a file"""
_GRANT_OVER = "invalid_grant"
_NOT_THE_CLIENT = frozenset({"invalid_client", "unauthorized_client"})


@dataclass(frozen=True, slots=True)
class Client:
    """Whom the authorization server knows us as. `secret` is asked at every renewal; None: a public client.

    `in_header`: the secret goes into the Authorization header, not into the form (RFC 6749 §2.3.1).
    """

    token_url: str
    client_id: str
    secret: Callable[[], Awaitable[str]] | None = field(default=None, repr=False)
    scope: str | None = None
    in_header: bool = False


class Renewing:
    """A source of access tokens. `refresh` reads the refresh token, `keep` stores another in its place."""

    def __init__(
        self, client: Client, refresh: Callable[[], Awaitable[str]], keep: Callable[[str], Awaitable[None]]
    ) -> None:
        self._client, self._refresh, self._keep = client, refresh, keep
        self._newest: str | None = None
        """a refresh token that could not be stored: it lives as long as this process"""

    async def __call__(self) -> Issued:
        """A new access token. AuthFailed: only a new sign-in helps, or another configuration; else Unavailable."""
        shown = self._newest or await self._refresh()
        answer = await self._asked(shown)
        if answer.get("error") == _GRANT_OVER:
            stored = await self._refresh()
            if stored != shown:
                shown, self._newest = stored, None
                answer = await self._asked(stored)
        if "error" in answer:
            _refuse(answer)
        issued = access_tokens.of_answer(answer, time.time())
        rotated = answer.get("refresh_token")
        if isinstance(rotated, str) and _REFRESH.fullmatch(rotated) and rotated != shown:
            await self._store(rotated)
        return issued

    async def _store(self, rotated: str) -> None:
        self._newest = rotated
        try:
            await self._keep(rotated)
        except MailError as error:
            LOG.warning("a new refresh token could not be stored (%s): a restart may need a new sign-in", error.code)
        else:
            self._newest = None

    async def _asked(self, refresh: str) -> Mapping[str, object]:
        client = self._client
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        if client.scope:
            form["scope"] = client.scope
        secret = await client.secret() if client.secret is not None else None
        header = None
        if client.in_header and secret is not None:
            header = httpx2.BasicAuth(client.client_id, secret)
        else:
            form["client_id"] = client.client_id
            if secret is not None:
                form["client_secret"] = secret
        try:
            async with asyncio.timeout(SECONDS):
                return await _posted(client.token_url, form, header)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError) as error:
            # Neither it nor its cause may be shown: a request holds the secrets.
            raise _useless(f"it cannot be reached ({type(error).__name__})") from None


async def _posted(url: str, form: Mapping[str, str], header: httpx2.BasicAuth | None) -> Mapping[str, object]:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mcp-proton"}
    async with (
        httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as http,
        http.stream("POST", url, data=form, headers=headers, auth=header) as response,
    ):
        content = bytearray()
        async for piece in response.aiter_raw():
            content += piece
            if len(content) > OCTETS:
                raise _useless("it sent too much")
        status = response.status_code
    if status == 429 or status >= 500 or 300 <= status < 400:
        raise _useless(f"HTTP status {status}")
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise _useless(f"HTTP status {status}, and no JSON object")
    return answer if status == 200 else {**answer, "error": answer.get("error") or "refused"}


def _refuse(answer: Mapping[str, object]) -> NoReturn:
    """RFC 6749 §5.2. The words of `error_description` are the server's own, and are not passed on."""
    code = str(answer.get("error"))
    if code == _GRANT_OVER:
        raise AuthFailed(
            "the authorization server takes the refresh token no more",
            next="ask the owner to sign in again and to store the new refresh token: `mcp-proton setup ACCOUNT`",
        )
    if code in _NOT_THE_CLIENT:
        raise AuthFailed(
            "the authorization server does not know `client_id`, or not with this secret",
            next="ask the owner to look at the account's `oauth` table in config.toml",
        )
    if code == "invalid_scope":
        raise AuthFailed(
            "the authorization server does not grant the scope that is asked for",
            next="ask the owner to look at `scope` in the account's `oauth` table in config.toml",
        )
    raise AuthFailed(
        "the authorization server refused to renew the access token",
        next="ask the owner to look at the account's `oauth` table in config.toml, or to sign in again",
    )


def _useless(why: str) -> Unavailable:
    return Unavailable(f"the authorization server is of no use now: {why}", code="upstream_unavailable")
