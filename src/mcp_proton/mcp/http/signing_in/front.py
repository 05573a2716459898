"""Front: the authorization server's addresses. Which of them there are is up to `[sign_in]`; without it there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route, Router

from mcp_proton.config.signing_in import By
from mcp_proton.mcp.http.signing_in import forms, pages, programs
from mcp_proton.mcp.http.signing_in.answers import Unfit, given
from mcp_proton.mcp.http.signing_in.forwarding import CALLBACK, Forwarding

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.signing_in.desk import Desk
    from mcp_proton.mcp.http.signing_in.provider import Provider

_METADATA = "/.well-known/oauth-authorization-server"
_MOST_REDIRECTS = 16


def by_passkey(desk: Desk, tokens: AccessTokens) -> Router:
    """Return what serves the addresses of signing in where the owner lets programs in; 404 to all others."""
    return Router([*_common(desk), *_passkeys(desk, tokens)], redirect_slashes=False)


def by_provider(desk: Desk, provider: Provider, audience: str) -> Router:
    """Return what serves them where the owner's provider does."""
    return Router([*_common(desk), *_provided(desk, Forwarding(desk, provider, audience))], redirect_slashes=False)


def metadata(desk: Desk) -> dict[str, Any]:
    """Return what programs learn of us as an authorization server (RFC 8414). All of it has one origin (J-92)."""
    issuer = desk.site.issuer
    told: dict[str, Any] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": list(desk.scopes),
        **programs.metadata(desk.rules),
    }
    if desk.rules.by is By.PASSKEY:
        told |= {"revocation_endpoint": f"{issuer}/revoke", "revocation_endpoint_auth_methods_supported": ["none"]}
    return told


def _common(desk: Desk) -> list[Route]:
    async def described(_: Request) -> Response:
        return given(metadata(desk))

    async def register(request: Request) -> Response:
        return given(registered(await forms.document(request), desk), 201)

    async def style(_: Request) -> Response:
        return pages.file("page.css", "text/css")

    return [
        Route(_METADATA, desk.for_program(described, desk.browsing), methods=["GET"]),
        Route("/register", desk.for_program(register, desk.browsing), methods=["POST"]),
        Route("/sign-in/page.css", desk.for_program(style, desk.browsing), methods=["GET"]),
    ]


def registered(told: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """Return the one client that every program is (J-84, RFC 7591); nothing is kept, the id carries what must be known (J-93).

    Raises `Unfit` where the owner allows no answer to one of its redirects.
    """
    wanted = told.get("redirect_uris")
    if not isinstance(wanted, list) or not 0 < len(wanted) <= _MOST_REDIRECTS:
        raise Unfit("invalid_redirect_uri", "name one redirect_uri, or a few")
    known_as = desk.programs.register(wanted) if all(isinstance(one, str) for one in wanted) else None
    if known_as is None:
        raise Unfit(
            "invalid_redirect_uri", "the owner allows no answer to one of these; `redirects` in `[sign_in]` names them"
        )
    return {
        "client_id": known_as,
        "redirect_uris": wanted,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }


def _passkeys(desk: Desk, tokens: AccessTokens) -> list[Route]:
    from mcp_proton.mcp.http.signing_in.ceremonies import Ceremonies
    from mcp_proton.mcp.http.signing_in.codes import Codes
    from mcp_proton.mcp.http.signing_in.enrolling import Enrolling
    from mcp_proton.mcp.http.signing_in.granting import Granting
    from mcp_proton.mcp.http.signing_in.letting_in import LettingIn

    ceremonies, codes = Ceremonies(desk.site), Codes()
    letting_in, granting = LettingIn(desk, ceremonies, codes), Granting(desk, tokens, codes)
    enrolling = Enrolling(desk, ceremonies)

    async def script(_: Request) -> Response:
        return pages.file("page.js", "text/javascript")

    return [
        Route("/authorize", desk.for_person(letting_in.authorize, desk.authorizing), methods=["GET"]),
        Route("/token", desk.for_program(granting.token, desk.exchanging), methods=["POST"]),
        Route("/revoke", desk.for_program(granting.revoke, desk.exchanging), methods=["POST"]),
        Route("/sign-in/answer", desk.for_program(letting_in.answer, desk.browsing), methods=["POST"]),
        Route("/sign-in/refuse", desk.for_program(letting_in.refuse, desk.browsing), methods=["POST"]),
        Route("/sign-in/enrol", desk.for_person(enrolling.page, desk.browsing), methods=["GET"]),
        Route("/sign-in/enrol/begin", desk.for_program(enrolling.begin, desk.browsing), methods=["POST"]),
        Route("/sign-in/enrol", desk.for_program(enrolling.finish, desk.browsing), methods=["POST"]),
        Route("/sign-in/page.js", desk.for_program(script, desk.browsing), methods=["GET"]),
    ]


def _provided(desk: Desk, forwarding: Forwarding) -> list[Route]:
    return [
        Route("/authorize", desk.for_person(forwarding.authorize, desk.authorizing), methods=["GET"]),
        Route("/sign-in/consent", desk.for_person(forwarding.consent, desk.browsing), methods=["POST"]),
        Route(CALLBACK, desk.for_person(forwarding.callback, desk.browsing), methods=["GET"]),
        Route("/token", desk.for_program(forwarding.token, desk.exchanging), methods=["POST"]),
    ]
