"""ENVELOPE, BODY, BODYSTRUCTURE and sections of a literal, as Bridge's IMAP engine prints them.

Strings are quoted by Go's rules: raw UTF-8 and escapes such as `\\t` inside, types in lower case, `()` for no
parameters. A message/rfc822 that holds a multipart is printed as a multipart of subtype `rfc822`. Nothing here raises
on any literal, but `section` raises SectionError where Bridge answers NO.
"""

from __future__ import annotations

import re

from mcp_proton.simulator.texts.addresses import Address, AddressError, parse_addresses
from mcp_proton.simulator.texts.go_text import octets, quote
from mcp_proton.simulator.texts.media_types import InvalidMediaType, parse_media_type
from mcp_proton.simulator.texts.sections import Section

_FIELDS = re.compile(r"HEADER\.FIELDS(\.NOT)? ?\((.*)\)", re.IGNORECASE | re.DOTALL)


class SectionError(Exception):
    """The text after NO for a section that doesn't exist."""


def envelope(literal: bytes) -> bytes:
    """The ENVELOPE list of RFC 3501, with brackets."""
    return octets(_envelope(_parse(literal)))


def body(literal: bytes, extended: bool) -> bytes:
    """BODYSTRUCTURE if `extended`, BODY otherwise."""
    return octets(_structure(_parse(literal), extended=extended))


def section(literal: bytes, path: str) -> bytes:
    """The bytes of `BODY[path]`: "", `HEADER`, `TEXT`, `HEADER.FIELDS (A B)`, `1.2`, `1.MIME`, `2.HEADER`, …

    Raises:
        SectionError: with Bridge's text, when there is no such part.
    """
    if not path:
        return literal
    numbers, keyword = _split_path(path)
    found = _part(_parse(literal), numbers)
    if not keyword:
        return found.body
    if keyword.upper() == "MIME":
        return found.header
    if found.media_type[0] == "message/rfc822":
        found = found.inner
    return _keyword(found, keyword)


def _parse(literal: bytes) -> Section:
    return Section(literal, 0, len(literal))


def _split_path(path: str) -> tuple[list[int], str]:
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", path)
    if not match:
        return [], path
    return [int(number) for number in match.group().split(".")], path[match.end() :].removeprefix(".")


def _part(found: Section, numbers: list[int]) -> Section:
    for number in numbers:
        children = found.children
        if number <= 0 or number - 1 > len(children):
            raise SectionError("no such parts exists")
        if not children:
            # Part 1 of a leaf is the leaf, whatever follows.
            return found
        if number > len(children):
            raise SectionError("invalid part index")
        found = children[number - 1]
    return found


def _keyword(found: Section, keyword: str) -> bytes:
    if keyword.upper() == "HEADER":
        return found.header
    if keyword.upper() == "TEXT":
        return found.body
    match = _FIELDS.fullmatch(keyword)
    if not match:
        raise SectionError("unknown section")
    wanted = set(match[2].lower().replace('"', "").split())
    return b"".join(
        field.raw
        for field in found.fields
        if not field.raw.strip() or (field.name and (field.name in wanted) != bool(match[1]))
    )


def _envelope(message: Section) -> str:
    sender = message.get("from")
    people = [
        sender,
        _first(message.get("sender"), sender),
        _first(message.get("reply-to"), sender),
        message.get("to"),
        message.get("cc"),
        message.get("bcc"),
    ]
    return "({} {} {} {} {})".format(
        _string(message.get("date")),
        _string(message.get("subject")),
        " ".join("NIL" if value is None else _addresses(value) for value in people),
        _string(message.get("in-reply-to")),
        _string(message.get("message-id")),
    )


def _first(value: str | None, otherwise: str | None) -> str | None:
    return otherwise if value is None else value


def _string(value: str | None) -> str:
    return quote(value) if value else "NIL"


def _addresses(value: str) -> str:
    try:
        people = parse_addresses(value)
    except AddressError:
        people = [Address(value, "")]
    return "(" + "".join(map(_person, people)) + ")"


def _person(person: Address) -> str:
    local, at, domain = person.address.partition("@")
    if not at or "@" in domain:
        local = domain = ""
    return f"({_string(person.name)} NIL {_string(local)} {_string(domain)})"


def _structure(part: Section, *, extended: bool) -> str:
    return _multipart(part, extended=extended) if part.children else _single(part, extended=extended)


def _multipart(part: Section, *, extended: bool) -> str:
    media_type, parameters = part.media_type
    children = "".join(_structure(child, extended=extended) for child in part.children)
    extension = f" {_parameters(parameters)} {_disposition(part)} {_language(part)}" if extended else ""
    return f"({children} {_string(media_type.partition('/')[2])}{extension})"


def _single(part: Section, *, extended: bool) -> str:
    media_type, parameters = part.media_type
    main, _, sub = media_type.partition("/") if "/" in media_type else ("", "", "")
    content = part.body
    result = " ".join(
        (
            _string(main),
            _string(sub),
            _parameters(parameters),
            _string(part.get("content-id")),
            _string(part.get("content-description")),
            _string(part.get("content-transfer-encoding")),
            str(len(content)),
        )
    )
    if media_type == "message/rfc822":
        result += f" {_envelope(part.inner)}{_structure(part.inner, extended=extended)}"
    if main == "text" or media_type == "message/rfc822":
        result += f" {_lines(content)}"
    if extended:
        result += f" {_string(part.get('content-md5'))} {_disposition(part)} {_language(part)}"
    return f"({result})"


def _language(part: Section) -> str:
    return f"{_string(part.get('content-language'))} {_string(part.get('content-location'))}"


def _parameters(parameters: dict[str, str]) -> str:
    return "(" + " ".join(f"{_string(name)} {_string(parameters[name])}" for name in sorted(parameters)) + ")"


def _disposition(part: Section) -> str:
    try:
        kind, parameters = parse_media_type(part.get("content-disposition") or "")
    except InvalidMediaType:
        return "NIL"
    return f"({_string(kind)} {_parameters(parameters)})"


def _lines(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n") if content else 0)
