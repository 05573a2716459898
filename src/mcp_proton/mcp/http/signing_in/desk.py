"""Desk: what the endpoints of signing in share, and how each is answered whatever happens at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError
from mcp_proton.mcp.calls import guarded
from mcp_proton.mcp.http.rates import Rate
from mcp_proton.mcp.http.signing_in import pages
from mcp_proton.mcp.http.signing_in.answers import Unfit
from mcp_proton.mcp.http.signing_in.browser import Browser
from mcp_proton.mcp.http.signing_in.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.bootstrap import Running
    from mcp_proton.config.signing_in import SigningIn
    from mcp_proton.mcp.http.signing_in.site import Site

    Endpoint = Callable[[Request], Awaitable[Response]]

_MINUTE = 60.0


@dataclass(frozen=True)
class Desk:
    """`rules` are `[sign_in]` as it was at the start, `scopes` what may be asked for; clients are read as they are now.
    `noticed` is told of what fails.
    """

    site: Site
    rules: SigningIn
    scopes: Sequence[str]
    running: Running
    noticed: Callable[[str], None]
    browser: Browser = field(init=False)
    programs: Programs = field(init=False)
    authorizing: Rate = field(default_factory=lambda: Rate(60, _MINUTE))
    exchanging: Rate = field(default_factory=lambda: Rate(120, _MINUTE))
    browsing: Rate = field(default_factory=lambda: Rate(180, _MINUTE))
    """How often a minute, all together (A-33): who asks cannot be told apart before anybody signed in."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "browser", Browser(self.site))
        object.__setattr__(self, "programs", Programs(self.rules))

    async def clients(self) -> Sequence[str]:
        """Return the clients that a program may come in as."""
        revoked = (await self.running.switches.current()).revoked_clients
        return [name for name in self.running.config.current().clients if name not in revoked]

    def check(self, fields: Mapping[str, str]) -> None:
        """Raise `Unfit` unless a request for tokens comes from a program that is known, and means this service."""
        if not self.programs.are_known(fields.get("client_id", self.rules.client_id)):
            raise Unfit("invalid_client", "no client is known by this client_id", status=401)
        if "resource" in fields and not self.site.is_resource(fields["resource"]):
            raise Unfit("invalid_target", "the resource is not this service")

    def for_program(self, endpoint: Endpoint, rate: Rate) -> Endpoint:
        """Return an endpoint that answers programs: what goes wrong is told in JSON."""

        async def answered(request: Request) -> Response:
            try:
                return await self._met(endpoint, request, rate)
            except Unfit as unfit:
                return unfit.as_json()

        return answered

    def for_person(self, endpoint: Endpoint, rate: Rate) -> Endpoint:
        """Return an endpoint that answers a person's browser: by going where an answer may go, else with a page."""

        async def answered(request: Request) -> Response:
            try:
                return await self._met(endpoint, request, rate)
            except Unfit as unfit:
                told = pages.telling("This cannot be done", f"{unfit.message} ({unfit.error}).")
                return unfit.as_redirect() or pages.shown(told, unfit.http_status)

        return answered

    async def _met(self, endpoint: Endpoint, request: Request, rate: Rate) -> Response:
        if rate.take("all"):
            self.noticed("sign_in_limited")
            raise Unfit("temporarily_unavailable", "too many ask at once; try again in a minute", status=429)
        try:
            return await guarded(lambda: endpoint(request))
        except Unfit:
            self.noticed("sign_in_refused")
            raise
        except MailError as error:
            raise Unfit("temporarily_unavailable", error.message, status=503) from None
