"""Pages: what a person sees. Nothing is loaded from elsewhere, nobody can frame them, nothing of them is kept."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_proton.mcp.http.signing_in.asking import Asked

_STATIC = Path(__file__).parent / "static"
MEANINGS: Mapping[str, str] = {
    "mail.read": "see, read and export mail",
    "mail.write": "file, draft, import and delete",
    "mail.send": "send mail, and fetch from the internet what is attached",
}
"""What a scope means, for a person."""
_SCRIPT = '<script src="/sign-in/page.js"></script>'
GUARDS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def letting_in(asked: Asked, clients: Iterable[str], scopes: Iterable[str], flow: str, options: Any) -> str:
    """Ask whether a program may come in, as which client, and for what."""
    chosen = "".join(f"<option>{escape(name)}</option>" for name in clients)
    boxes = "".join(
        f'<label><input type="checkbox" name="scope" value="{escape(scope)}" checked> {escape(MEANINGS[scope])}</label>'
        for scope in scopes
    )
    return _page(
        "Let a program in?",
        f"<p>A program at <strong>{escape(asked.program)}</strong> asks to use your mail. Go on only if you started this "
        f"yourself, just now.{_whose(asked)}</p>"
        f'<label>As which of your clients<select id="client">{chosen}</select></label>'
        f"<fieldset><legend>It may, at most</legend>{boxes}</fieldset>"
        "<p>What it may do of that, your rules decide.</p>"
        '<button id="let-in">Let it in with a passkey</button><button id="refuse">No</button>',
        f' data-flow="{escape(flow)}" data-options="{escape(json.dumps(options))}"',
        _SCRIPT,
    )


def going_on(asked: Asked, provider: str, flow: str) -> str:
    """Ask whether a program may go on to the provider."""
    wanted = ", ".join(escape(MEANINGS.get(scope, scope)) for scope in asked.scopes) or "use your mail"
    return _page(
        "Let a program in?",
        f"<p>A program at <strong>{escape(asked.program)}</strong> asks to sign in to your mail at "
        f"<strong>{escape(provider)}</strong>, to: {wanted}.</p>"
        f"<p>Go on only if you started this yourself, just now.{_whose(asked)}</p>"
        '<form method="post" action="/sign-in/consent">'
        f'<input type="hidden" name="flow" value="{escape(flow)}">'
        '<button name="answer" value="yes">Go on</button><button name="answer" value="no">No</button></form>',
    )


def enrolling() -> str:
    """Ask for a code, and make a passkey."""
    return _page(
        "Add a passkey",
        "<p><code>mcp-proton passkeys add</code> prints a code that is good once, for ten minutes.</p>"
        '<label>The code<input id="code" autocomplete="off" maxlength="40"></label>'
        '<label>A name for this passkey<input id="name" value="passkey" maxlength="40"></label>'
        '<button id="enrol">Add a passkey</button>',
        script=_SCRIPT,
    )


def telling(title: str, text: str) -> str:
    """Tell something."""
    return _page(title, f"<p>{escape(text)}</p>")


def shown(page: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a page."""
    return HTMLResponse(page, status, {**GUARDS, **(headers or {})})


def file(name: str, kind: str) -> Response:
    """Answer with one of the files that pages are made of."""
    return Response((_STATIC / name).read_bytes(), 200, GUARDS, kind)


def _whose(asked: Asked) -> str:
    """Say what a scheme does not prove: another program may have taken it (RFC 8252 §8.1)."""
    if asked.scheme is None:
        return ""
    return f" The answer goes to whichever program this device opens <strong>{escape(asked.scheme)}:</strong> addresses with."


def _page(title: str, body: str, more: str = "", script: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/sign-in/page.css"></head>'
        f"<body><main{more}><h1>{escape(title)}</h1>{body}"
        f'<p id="told" role="alert"></p></main>{script}</body></html>'
    )
