"""HTML as Bridge rewrites it when a message is delivered or sent."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from mcp_proton.simulator.texts.media_types import InvalidMediaType, format_media_type, parse_media_type

_META_CHARSET = re.compile(r"(<meta\b[^<>]*\bcharset\s*=\s*[\"']?)([-\w]*)", re.IGNORECASE)
# Beyond this a page only gets its charset names changed: a parser in Python is too slow for more.
_PRINTED_LENGTH = 200_000
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_RAW = {"script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"}
_HEAD = {"base", "link", "meta", "script", "style", "template", "title", "noscript"}


def declared_utf8(page: str) -> str:
    """The page with its charset declarations changed to UTF-8; one that declares none is left as it is.

    A changed page is printed anew: missing `html`, `head` and `body` appear, and text after `</body>` moves into it.
    """
    if not _META_CHARSET.search(page):
        return page
    if len(page) <= _PRINTED_LENGTH:
        writer = _Printer()
        try:
            writer.feed(page)
            writer.close()
        except AssertionError:
            # What Python's parser says to declarations it doesn't know.
            pass
        else:
            return writer.page()
    return _META_CHARSET.sub(r"\1UTF-8", page)


def as_html(plain: str) -> str:
    """Plain text turned into a page, as Bridge does to a body that an image has to be added to."""
    lines = _text(plain).replace("\r\n", "<br/>")
    return f"<html><body><p>{lines}</p></body></html>"


def _text(value: str) -> str:
    for char, entity in (("&", "&amp;"), ("'", "&#39;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&#34;")):
        value = value.replace(char, entity)
    return value


class _Printer(HTMLParser):
    """Prints a page in the form of Go's HTML package: enough of its tree rules for ordinary mail."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._before: list[str] = []
        self._head: list[str] = []
        self._body: list[str] = []
        self._html_attributes = ""
        self._body_attributes = ""
        self._in_body = False
        self._verbatim = False

    def page(self) -> str:
        return (
            f"{''.join(self._before)}<html{self._html_attributes}><head>{''.join(self._head)}</head>"
            f"<body{self._body_attributes}>{''.join(self._body)}</body></html>"
        )

    def _out(self) -> list[str]:
        return self._body if self._in_body else self._head

    def handle_decl(self, decl: str) -> None:
        self._before.append(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        self._out().append(f"<!--{data}-->")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        printed = "".join(f' {name}="{_text(value or "")}"' for name, value in _utf8_attributes(tag, attrs))
        match tag:
            case "html":
                self._html_attributes = printed
            case "head":
                pass
            case "body":
                self._in_body = True
                self._body_attributes = printed
            case _:
                self._in_body = self._in_body or tag not in _HEAD
                self._verbatim = tag in _RAW
                self._out().append(f"<{tag}{printed}{'/' if tag in _VOID else ''}>")

    def handle_endtag(self, tag: str) -> None:
        self._verbatim = False
        if tag == "head":
            self._in_body = True
        elif tag not in _VOID and tag not in ("html", "body"):
            self._out().append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        inside = self._head and not self._head[-1].startswith("</") and not self._head[-1].endswith("/>")
        if not self._in_body and data.strip() and not inside:
            self._in_body = True
        if self._in_body or data.strip() or inside:
            self._out().append(data if self._verbatim else _text(data))


def _utf8_attributes(tag: str, attrs: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    if tag != "meta":
        return attrs
    return [(name, _utf8_attribute(name, value)) for name, value in attrs]


def _utf8_attribute(name: str, value: str | None) -> str | None:
    if name == "charset":
        return "UTF-8"
    if name != "content" or not value:
        return value
    try:
        media_type, parameters = parse_media_type(value)
    except InvalidMediaType:
        return value
    return format_media_type(media_type, {**parameters, "charset": "UTF-8"}) if "charset" in parameters else value
