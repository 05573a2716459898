"""Forwarding: a program is handed on to the owner's provider, which knows no programs, only the service (J-85).

The provider's answers come back here, and go on to where the program asked for them. The person is asked first, each time: the
provider sees one client only, and would let any program in that says it is that one (the confused deputy).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse

from mcp_proton.mcp.http.signing_in import asking, forms, pages
from mcp_proton.mcp.http.signing_in.answers import FRESH, Unfit, given, refusal, success
from mcp_proton.mcp.http.signing_in.keeping import Kept
from mcp_proton.mcp.http.watching import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from mcp_proton.mcp.http.signing_in.asking import Asked
    from mcp_proton.mcp.http.signing_in.desk import Desk
    from mcp_proton.mcp.http.signing_in.provider import Provider

CALLBACK = "/oauth/callback"
_CODE = re.compile(r"[\x21-\x7e]{1,4096}")
_WORD = re.compile(r"[a-z_]{1,64}")


@dataclass(frozen=True)
class _Flow:
    """One program that waits for a person or for the provider, in one browser."""

    asked: Asked
    browser: str


class Forwarding:
    """The endpoints between programs and the provider. `audience` is what tokens must be meant for."""

    def __init__(self, desk: Desk, provider: Provider, audience: str) -> None:
        self._desk = desk
        self._provider = provider
        self._audience = audience
        self._callback = f"{desk.site.issuer}{CALLBACK}"
        self._waiting: Kept[_Flow] = Kept()
        self._away: Kept[_Flow] = Kept()
        self._codes: Kept[Asked] = Kept()

    async def authorize(self, request: Request) -> Response:
        """Ask the person, where the request is in order."""
        asked = await asking.read(forms.asked(request), self._desk.programs, self._desk.site)
        if (home := self._desk.browser.led_home(request)) is not None:
            return home
        browser, cookie = self._desk.browser.greet(request)
        flow = self._waiting.put(_Flow(asked, browser))
        name = urlsplit(self._provider.issuer).netloc
        return pages.shown(pages.going_on(asked, name, flow), headers=cookie)

    async def consent(self, request: Request) -> Response:
        """Send the browser on to the provider, or back to the program with a no."""
        self._desk.browser.from_our_page(request)
        fields = await forms.form(request)
        flow = self._of_this_browser(request, self._waiting.take(fields.get("flow")))
        asked = flow.asked
        if fields.get("answer") != "yes":
            write("sign_in_denied", program=asked.program)
            return _to(refusal(asked.redirect, asked.state, "access_denied", "the owner said no"))
        sent = {
            "response_type": "code",
            "redirect_uri": self._callback,
            "state": self._away.put(flow),
            "code_challenge": asked.challenge,
            "code_challenge_method": "S256",
            "resource": self._audience,
            **({"scope": " ".join(asked.scopes)} if asked.scopes else {}),
            **({"nonce": asked.nonce} if asked.nonce is not None else {}),
        }
        write("sign_in_forwarded", program=asked.program)
        return _to(await self._provider.asking(sent))

    async def callback(self, request: Request) -> Response:
        """Take the provider's answer on to the program that waits for it; `iss` stays here: to programs the issuer is us."""
        fields = forms.asked(request)
        asked = self._of_this_browser(request, self._away.take(fields.get("state"))).asked
        if fields.get("iss", self._provider.issuer) != self._provider.issuer:
            raise Unfit("invalid_request", "this is the answer of another provider")  # RFC 9207 §2.4
        code, error = fields.get("code", ""), fields.get("error")
        if error is not None:
            word = error if _WORD.fullmatch(error) else "server_error"
            return _to(refusal(asked.redirect, asked.state, word, "the provider did not let it in"))
        if not _CODE.fullmatch(code):
            return _to(refusal(asked.redirect, asked.state, "server_error", "the provider gave no code"))
        self._codes.put(asked, code)
        return _to(success(asked.redirect, asked.state, code))

    async def token(self, request: Request) -> Response:
        """Get a program its tokens from the provider."""
        fields = await forms.form(request)
        self._desk.check(fields)
        match fields.get("grant_type"):
            case "authorization_code":
                sent = self._for_code(fields)
            case "refresh_token":
                sent = {"grant_type": "refresh_token", "refresh_token": fields.get("refresh_token", "")}
                sent |= {"scope": fields["scope"]} if fields.get("scope") else {}
            case _:
                raise Unfit("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
        status, told = await self._provider.exchange({**sent, "resource": self._audience})
        if status == 200:
            write("sign_in_begun" if "code" in sent else "sign_in_renewed", at="provider")
        return given(told, status)

    def _for_code(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Only a code that came through here, for the program that asked for it: whatever the provider checks of that."""
        code = fields.get("code", "")
        asked = self._codes.take(code)
        if asked is None or not asked.is_by(fields):
            raise Unfit("invalid_grant", "the code is not good (any more)")
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "code_verifier": fields["code_verifier"],
        }

    def _of_this_browser(self, request: Request, flow: _Flow | None) -> _Flow:
        if flow is None or not self._desk.browser.is_same(request, flow.browser):
            raise Unfit(
                "invalid_request", "this took too long, or began in another browser; begin again in your program"
            )
        return flow


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, FRESH)
