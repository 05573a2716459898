"""Identifying: what the owner's configuration makes of tokens that are not the owner's own, put together at the start."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.config.signing_in import By
from mcp_proton.mcp.http.trusted import Trusted
from mcp_proton.storage.vault import Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp

    from mcp_proton.bootstrap import Running
    from mcp_proton.config.signing_in import SigningIn
    from mcp_proton.mcp.http.listening import Listening
    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.signing_in.site import Site

_SECRET = "sign-in"  # noqa: S105 - the name under which the vault knows it


@asynccontextmanager
async def identity(
    running: Running, door: Listening, noticed: Callable[[str], None]
) -> AsyncIterator[tuple[Trusted | None, ASGIApp | None]]:
    """Give whose tokens are trusted, and what serves the addresses of signing in; None where there is neither."""
    config = running.settings.config
    if config.oauth is None and config.sign_in is None:
        yield None, None
        return
    from mcp_proton.mcp.http.signing_in.site import Site

    site = Site(config.service.public_url or ("http://localhost" if door.path else str(door)))
    async with AsyncExitStack() as stack:
        by_passkey = config.sign_in is not None and config.sign_in.by is By.PASSKEY
        tokens = _tokens(running, site) if by_passkey else None
        trusted = Trusted.of(config, site, tokens)
        assert trusted is not None
        stack.push_async_callback(trusted.aclose)
        front = None if config.sign_in is None else _front(running, trusted, config.sign_in, noticed, stack)
        yield trusted, front


def _front(
    running: Running, trusted: Trusted, rules: SigningIn, noticed: Callable[[str], None], stack: AsyncExitStack
) -> ASGIApp:
    from mcp_proton.mcp.http.signing_in import front
    from mcp_proton.mcp.http.signing_in.desk import Desk
    from mcp_proton.mcp.http.signing_in.provider import Provider

    desk = Desk(trusted.site, rules, trusted.scopes, running, noticed)
    if trusted.tokens is not None:
        return front.by_passkey(desk, trusted.tokens)
    oauth = running.settings.config.oauth
    assert oauth is not None
    vault = Vault({_SECRET: rules.secret} if rules.secret else {}, os.environ)
    provider = Provider(oauth.issuer, rules, (lambda: vault.secret(_SECRET)) if rules.secret else None)
    stack.push_async_callback(provider.aclose)
    return front.by_provider(desk, provider, trusted.resource())


def _tokens(running: Running, site: Site) -> AccessTokens:
    from mcp_proton.mcp.http.servers import PATH
    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.signing_in.signing_key import signing_key

    key = signing_key(running.settings.folders.state / "signing.pem")
    return AccessTokens(key, site.issuer, f"{site.origin}{PATH}")
