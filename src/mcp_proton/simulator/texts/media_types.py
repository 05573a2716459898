"""MIME types with parameters (RFC 2045 and 2231) as Go's `mime` package writes and Bridge reads them.

Bridge's reading is wider than Go's: encoded words in values are decoded, RFC 2231 may name any charset, and of a
parameter given twice the last one counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from mcp_proton.simulator.texts.go_text import SPACE, decode_charset, decode_words, text

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(r"[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]+")


class InvalidMediaType(ValueError):
    """The header value is none that Go accepts."""


def parse_media_type(value: str) -> tuple[str, dict[str, str]]:
    """`type/subtype` in lower case and its parameters by lower-case name; InvalidMediaType for anything odd."""
    base, _, _ = value.partition(";")
    media_type = base.strip(SPACE).lower()
    _check_type(media_type)
    plain: dict[str, str] = {}
    pieces: dict[str, dict[str, str]] = {}
    rest = value[len(base) :]
    while rest:
        rest = rest.lstrip(SPACE)
        if not rest:
            break
        name, content, rest = _parameter(rest, last=rest.strip(SPACE) == ";")
        if not name:
            break
        stem, star, _ = name.partition("*")
        into = pieces.setdefault(stem, {}) if star else plain
        into[name] = content if star else decode_words(content) or content
    for stem, found in pieces.items():
        whole = _continued(stem, found)
        if whole is not None:
            plain[stem] = whole
    return media_type, plain


def _check_type(media_type: str) -> None:
    main, slash, sub = media_type.partition("/")
    if not _TOKEN.fullmatch(main) or (slash and not _TOKEN.fullmatch(sub)):
        raise InvalidMediaType("no media type")


def _parameter(rest: str, *, last: bool) -> tuple[str, str, str]:
    """Name, value and what follows; an empty name for a lone semicolon at the end."""
    if rest[0] != ";":
        raise InvalidMediaType("a parameter needs its semicolon")
    if last:
        return "", "", ""
    after = rest[1:].lstrip(SPACE)
    name = _TOKEN.match(after)
    if not name:
        raise InvalidMediaType("a parameter needs its name")
    after = after[name.end() :].lstrip(SPACE)
    if not after.startswith("="):
        raise InvalidMediaType("a parameter needs its value")
    content, rest = _value(after[1:].lstrip(SPACE))
    return name.group().lower(), content, rest


def _value(rest: str) -> tuple[str, str]:
    if not rest.startswith('"'):
        token = _TOKEN.match(rest)
        if not token:
            raise InvalidMediaType("a parameter needs its value")
        return token.group(), rest[token.end() :]
    result: list[str] = []
    at = 1
    while at < len(rest):
        char = rest[at]
        if char == '"':
            return "".join(result), rest[at + 1 :]
        # A backslash before anything but a special is kept: Windows paths in old mail.
        if char == "\\" and at + 1 < len(rest) and rest[at + 1] in '()<>@,;:\\"/[]?=':
            at += 1
            char = rest[at]
        elif char in "\r\n":
            break
        result.append(char)
        at += 1
    raise InvalidMediaType("an open quote")


def _continued(stem: str, found: Mapping[str, str]) -> str | None:
    """RFC 2231: one charset-marked value, or numbered pieces of one."""
    if f"{stem}*" in found:
        return _percent_decoded(found[f"{stem}*"])
    result = ""
    for number in range(len(found)):
        if f"{stem}*{number}" in found:
            result += found[f"{stem}*{number}"]
            continue
        encoded = found.get(f"{stem}*{number}*")
        if encoded is None:
            break
        if number == 0:
            decoded = _percent_decoded(encoded)
            result += decoded if decoded is not None else ""
        else:
            result += text(unquote_to_bytes(encoded))
    return result if f"{stem}*0" in found or f"{stem}*0*" in found else None


def _percent_decoded(value: str) -> str | None:
    pieces = value.split("'", 2)
    if len(pieces) != 3:
        return None
    raw = unquote_to_bytes(pieces[2])
    return text(raw) if pieces[0].lower() in ("utf-8", "us-ascii") else decode_charset(raw, pieces[0])


def format_media_type(media_type: str, parameters: Mapping[str, str]) -> str:
    """The header value with its parameters in order of their names, quoted where they must be."""
    result = media_type.lower()
    for name in sorted(parameters):
        value = parameters[name]
        if _TOKEN.fullmatch(value):
            result += f"; {name.lower()}={value}"
        else:
            result += f'; {name.lower()}="' + re.sub(r'(["\\])', r"\\\1", value) + '"'
    return result
