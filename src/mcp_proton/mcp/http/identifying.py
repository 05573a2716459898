"""Identifying: what the owner's configuration makes of tokens that are not the owner's own, put together at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .trusted import Trusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from mcp_proton.bootstrap import Running

    from .listening import Listening
    from .signing_in.access import AccessTokens
    from .signing_in.site import Site


def identity(
    running: Running, door: Listening, noticed: Callable[[str], None]
) -> tuple[Trusted | None, ASGIApp | None]:
    """Return whose tokens are trusted, and what serves the addresses of signing in; None where there is neither."""
    config = running.settings.config
    if config.oauth is None and config.sign_in is None:
        return None, None
    from .signing_in.site import Site

    site = Site(config.service.public_url or ("http://localhost" if door.path else str(door)))
    if config.sign_in is None:
        return Trusted.of(config, site, None), None
    from .signing_in.desk import Desk
    from .signing_in.front import front

    tokens = _tokens(running, site)
    return Trusted.of(config, site, tokens), front(Desk(site, config.sign_in, running, noticed), tokens)


def _tokens(running: Running, site: Site) -> AccessTokens:
    from .servers import PATH
    from .signing_in.access import AccessTokens
    from .signing_in.signing_key import signing_key

    key = signing_key(running.settings.folders.state / "signing.pem")
    return AccessTokens(key, site.issuer, f"{site.origin}{PATH}")
