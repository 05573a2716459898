"""Enrolling: the owner adds a passkey in a browser, with a code that a command printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.errors import OverLimit
from mcp_proton.mcp.http.signing_in import forms, pages
from mcp_proton.mcp.http.signing_in.answers import Unfit, given
from mcp_proton.mcp.http.signing_in.keeping import Kept
from mcp_proton.mcp.http.watching import write

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.mcp.http.signing_in.ceremonies import Ceremonies
    from mcp_proton.mcp.http.signing_in.desk import Desk

_LONGEST_NAME = 40


@dataclass(frozen=True)
class _Flow:
    browser: str
    state: Any


class Enrolling:
    """The endpoints of the page on which a passkey is made."""

    def __init__(self, desk: Desk, ceremonies: Ceremonies) -> None:
        self._desk = desk
        self._ceremonies = ceremonies
        self._flows: Kept[_Flow] = Kept()

    async def page(self, request: Request) -> Response:
        """Show the page."""
        home = self._desk.browser.led_home(request)
        return home or pages.shown(pages.enrolling(), headers=self._desk.browser.greet(request)[1])

    async def begin(self, request: Request) -> Response:
        """Give what a browser needs to make a passkey, to whoever has a code."""
        self._desk.browser.from_our_page(request)
        told = await forms.document(request)
        await self._invited(told)
        options, state = self._ceremonies.begin_making(await self._desk.running.passkeys.listed())
        browser, cookie = self._desk.browser.greet(request)
        answered = given({"flow": self._flows.put(_Flow(browser, state)), "options": options})
        answered.headers.update(cookie)
        return answered

    async def finish(self, request: Request) -> Response:
        """Keep the passkey that was made; the code is spent."""
        self._desk.browser.from_our_page(request)
        told = await forms.document(request)
        flow = self._flows.take(told.get("flow"))
        if flow is None or not self._desk.browser.is_same(request, flow.browser):
            raise Unfit("invalid_request", "this took too long, or began in another browser; load the page again")
        code = await self._invited(told)
        made = self._ceremonies.make(flow.state, told.get("credential"))
        if made is None:
            raise Unfit("invalid_request", "this proves no passkey; it must ask for a PIN, a fingerprint or the like")
        try:
            kept = await self._desk.running.passkeys.add(code, made.credential, made.key, _name(told.get("name")))
        except OverLimit as error:
            raise Unfit("access_denied", error.message, status=403) from None
        if kept is None:
            raise _no_code()
        write("passkey_added", passkey=kept.id)
        return given({"passkey": kept.id})

    async def _invited(self, told: dict[str, Any]) -> str:
        code = told.get("code")
        if not isinstance(code, str) or len(code) > 64 or not await self._desk.running.passkeys.invited(code):
            raise _no_code()
        return code


def _no_code() -> Unfit:
    return Unfit(
        "access_denied", "the code is not good (any more); `mcp-proton passkeys add` prints another", status=403
    )


def _name(told: object) -> str:
    words = " ".join(told.split())[:_LONGEST_NAME] if isinstance(told, str) else ""
    return "".join(c for c in words if c.isprintable()) or "passkey"
