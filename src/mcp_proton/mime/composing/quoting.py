"""The original, as an answer shows it: quoted below a line that says who wrote it, or passed on below its header.

What is quoted is what a person would have seen: visible text, and HTML without scripts, hidden text or anything that
loads (P-95). Pictures inside the original are named, not carried along.
"""

from __future__ import annotations

import html as escaping
import re
from email.utils import format_datetime
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.hypertext import html

if TYPE_CHECKING:
    from mcp_proton.mime.header.headers import Headers

MOST = 100_000
"""Characters of an original that are quoted."""

LEFT_OUT = "[…]"
"""Stands where the rest of a longer original was left out."""

FORWARDED = "---------- Forwarded message ----------"

_SHOWN = ("From", "Date", "Subject", "To", "Cc")
_ADDRESSES = frozenset({"From", "To", "Cc"})
_LONGEST_FIELD = 2_000
_PICTURE = re.compile(r'<img\b[^>]*\bsrc="(?:cid|data):[^"]*"[^>]*>')
_ALTERNATIVE = re.compile(r'\balt="([^"]*)"')
_DOCUMENT_END = re.compile(r"</(?:body|html)\b", re.IGNORECASE)


class Quote(NamedTuple):
    """The original as text and as HTML, ready to stand below what is written."""

    text: str
    html: str

    def below(self, written: str) -> str:
        """Return the text of the answer with the original below it."""
        return f"{written.rstrip()}\n\n{self.text}\n" if written.strip() else f"{self.text}\n"

    def below_html(self, written: str) -> str:
        """Return the HTML of the answer with the original below it, within the document if it is a whole one."""
        end = _DOCUMENT_END.search(written)
        at = end.start() if end else len(written)
        return f"{written[:at]}\n<br>\n{self.html}\n{written[at:]}"


def replied(headers: Headers, text: str, source: str | None = None) -> Quote:
    """Return the original quoted: each line behind `> `, quotes within it one level deeper."""
    said = attribution(headers)
    page = f'<div>{_escaped(said)}</div>\n<blockquote type="cite">\n{_page(text, source)}\n</blockquote>'
    return Quote(f"{said}\n{quoted(text)}", page)


def forwarded(headers: Headers, text: str, source: str | None = None) -> Quote:
    """Return the original passed on as it is, below its header. Who got it as Bcc is not told."""
    shown = [f"{name}: {_shown(headers, name)}" for name in _SHOWN if headers.get(name)]
    top = [FORWARDED, *shown]
    page = "<br>\n".join(_escaped(one) for one in top)
    return Quote("\n".join([*top, "", _cut(text).strip("\n")]), f"<div>{page}</div>\n<br>\n{_page(text, source)}")


def attribution(headers: Headers) -> str:
    """Return the line above a quote: when, and who, in its sender's own words."""
    sender = _shown(headers, "From") or "somebody"
    sent = date(headers.get("Date"))
    return f"On {format_datetime(sent)}, {sender} wrote:" if sent else f"{sender} wrote:"


def quoted(text: str) -> str:
    """Return the text with every line marked as quoted."""
    lines = _cut(text).strip("\n").split("\n")
    return "\n".join(f">{one}" if one.startswith(">") or not one else f"> {one}" for one in lines)


def _page(text: str, source: str | None) -> str:
    """Return the original as safe HTML."""
    if source is None:
        return "<br>\n".join(_escaped(one) for one in _cut(text).strip("\n").split("\n"))
    shown = _PICTURE.sub(_named, html.safe(source, limit=MOST))
    return f"{shown}<p>{LEFT_OUT}</p>" if len(source) > MOST else shown


def _named(picture: re.Match[str]) -> str:
    said = _ALTERNATIVE.search(picture[0])
    return f"[image: {said[1]}]" if said and said[1].strip() else "[image]"


def _shown(headers: Headers, name: str) -> str:
    sent = date(headers.get(name)) if name == "Date" else None
    if sent is not None:
        return format_datetime(sent)
    said = headers.text(name)
    if name in _ADDRESSES:
        said = line(", ".join(map(str, addresses(b", ".join(headers.all(name))))))
    return said if len(said) <= _LONGEST_FIELD else f"{said[:_LONGEST_FIELD]} {LEFT_OUT}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST].rstrip()}\n{LEFT_OUT}"


def _escaped(text: str) -> str:
    return escaping.escape(text, quote=False)
