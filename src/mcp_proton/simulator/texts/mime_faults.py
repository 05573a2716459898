"""What makes Bridge refuse a text before anything is done with it, in the words of the libraries it reads mail with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.simulator.texts.address_faults import fault_text
from mcp_proton.simulator.texts.addresses import AddressError, parse_addresses
from mcp_proton.simulator.texts.sections import header_end

if TYPE_CHECKING:
    from mcp_proton.simulator.texts.sections import Section

_FIELD = re.compile(rb"[^\n]*\n?(?:[ \t][^\n]*\n?)*")
_NOT_IN_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")
_PEOPLE = ("from", "to", "cc", "bcc", "reply-to")


def structure_fault(message: Section) -> str:
    """Why a text can't be taken apart; empty if it can. Ends with a line end where a header line is quoted."""
    return _header_fault(message.header + message.body) or _multipart_fault(message)


def people_fault(message: Section) -> str:
    """Why the people of a header can't be read; empty if they can. The first field that can't be read is named."""
    for field in message.fields:
        if field.name in _PEOPLE:
            try:
                parse_addresses(field.value)
            except AddressError:
                return f"failed to parse message header: failed to parse {field.name}: {fault_text(field.value)}"
    return ""


def base64_fault(part: Section) -> str:
    """Why the base64 of a part can't be decoded; empty if it can, or if it is none."""
    if (part.get("content-transfer-encoding") or "").strip().lower() != "base64":
        return ""
    content = part.body.replace(b"\r", b"").replace(b"\n", b"")
    whole = len(content) - len(content) % 4
    odd = _NOT_IN_BASE64.search(content, 0, whole)
    if odd is not None:
        return f"illegal base64 data at input byte {odd.start()}"
    return "unexpected EOF" if whole < len(content) else ""


def _header_fault(literal: bytes) -> str:
    at, end = 0, header_end(literal, 0, len(literal))
    if literal[:1] in (b" ", b"\t"):
        first = _words(literal.partition(b"\n")[0])
        return f"message: malformed MIME header initial line: {first}"
    while at < end and literal[at:end].strip(b"\r\n"):
        field = _FIELD.match(literal, at, end)
        if field is None or not field[0]:
            break
        if field[0].strip(b"\r\n") and b":" not in field[0]:
            return f"message: malformed MIME header line: {_words(field[0])}\r\n"
        at = field.end()
    return ""


def _words(raw: bytes) -> str:
    return raw.rstrip(b"\r\n").decode("utf-8", "surrogateescape")


def _multipart_fault(part: Section) -> str:
    media_type, parameters = part.media_type
    if not media_type.startswith("multipart/"):
        return ""
    delimiter = parameters.get("boundary", "")
    if not delimiter:
        return "multipart: boundary is empty"
    line = re.compile(
        rb"^--" + re.escape(delimiter.encode("utf-8", "surrogateescape")) + rb"(--)?[ \t]*\r?$", re.MULTILINE
    )
    marks = list(line.finditer(part.body))
    if not marks or marks[0][1]:
        return "multipart: NextPart: EOF"
    if not any(mark[1] for mark in marks):
        return "unexpected EOF"
    return next((fault for fault in map(_part_fault, part.children) if fault), "")


def _part_fault(part: Section) -> str:
    return _header_fault(part.header + part.body) or _multipart_fault(part)
