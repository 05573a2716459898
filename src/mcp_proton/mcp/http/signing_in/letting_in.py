"""Letting in: a program sends the owner's browser here; the owner says, with a passkey, whether it may come in, and as what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.scopes import MAIL
from mcp_proton.mcp.http.signing_in import asking, forms, pages
from mcp_proton.mcp.http.signing_in.answers import Unfit, given, refusal, success
from mcp_proton.mcp.http.signing_in.keeping import Kept
from mcp_proton.mcp.http.watching import write

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.mcp.http.signing_in.asking import Asked
    from mcp_proton.mcp.http.signing_in.ceremonies import Ceremonies
    from mcp_proton.mcp.http.signing_in.codes import Codes
    from mcp_proton.mcp.http.signing_in.desk import Desk

_TRIES = 5


@dataclass
class _Flow:
    """One program that waits for the owner's answer, in one browser."""

    asked: Asked
    browser: str
    state: Any
    scopes: tuple[str, ...]
    tries: int = 0


class LettingIn:
    """The endpoints of the page on which the owner decides."""

    def __init__(self, desk: Desk, ceremonies: Ceremonies, codes: Codes) -> None:
        self._desk = desk
        self._ceremonies = ceremonies
        self._codes = codes
        self._flows: Kept[_Flow] = Kept()

    async def authorize(self, request: Request) -> Response:
        """Show the page, where the request is in order."""
        asked = await asking.read(forms.asked(request), self._desk.programs, self._desk.site)
        if (home := self._desk.browser.led_home(request)) is not None:
            return home
        clients = await self._desk.clients()
        if not clients or not await self._desk.running.passkeys.listed():
            what = "a client: `mcp-proton clients add NAME`" if not clients else "a passkey: `mcp-proton passkeys add`"
            return pages.shown(pages.telling("Not yet", f"First the owner adds {what}. Then try again."), 409)
        options, state = self._ceremonies.begin_using()
        browser, cookie = self._desk.browser.greet(request)
        scopes = tuple(scope for scope in MAIL if scope in asked.scopes) or tuple(MAIL)
        flow = self._flows.put(_Flow(asked, browser, state, scopes))
        return pages.shown(pages.letting_in(asked, clients, scopes, flow, options), headers=cookie)

    async def answer(self, request: Request) -> Response:
        """Let the program in, where the passkey proves that the owner says so."""
        told = await forms.document(request)
        flow = self._flow(request, told)
        client, scopes = told.get("client"), told.get("scopes")
        chosen = tuple(scope for scope in flow.scopes if isinstance(scopes, list) and scope in scopes)
        if not chosen or client not in await self._desk.clients():
            raise Unfit("invalid_request", "choose a client, and at least one thing it may do")
        await self._proved(flow, told)
        if self._flows.take(told["flow"]) is None:
            raise Unfit("invalid_request", "this was answered already")
        assert isinstance(client, str)
        code = self._codes.issue(flow.asked, client, chosen)
        write("sign_in_granted", client=client, program=flow.asked.program, scopes=",".join(chosen))
        return given({"to": success(flow.asked.redirect, flow.asked.state, code)})

    async def refuse(self, request: Request) -> Response:
        """Send the program away."""
        told = await forms.document(request)
        asked = self._flow(request, told).asked
        self._flows.take(told["flow"])
        write("sign_in_denied", program=asked.program)
        return given({"to": refusal(asked.redirect, asked.state, "access_denied", "the owner said no")})

    def _flow(self, request: Request, told: dict[str, Any]) -> _Flow:
        self._desk.browser.from_our_page(request)
        flow = self._flows.look(told.get("flow"))
        if flow is None or not self._desk.browser.is_same(request, flow.browser):
            raise Unfit(
                "invalid_request", "this took too long, or began in another browser; begin again in your program"
            )
        return flow

    async def _proved(self, flow: _Flow, told: dict[str, Any]) -> None:
        flow.tries += 1
        if flow.tries > _TRIES:
            self._flows.take(told["flow"])
            raise Unfit("access_denied", "that was tried too often; begin again in your program", status=403)
        known = await self._desk.running.passkeys.listed()
        used = self._ceremonies.use(flow.state, known, told.get("credential"))
        if used is None or not await self._desk.running.passkeys.used(used.credential, used.count):
            self._desk.noticed("passkey_refused")
            raise Unfit("access_denied", "this passkey is not known here, or proved nothing", status=403)
