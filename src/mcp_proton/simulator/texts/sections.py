"""A message cut into sections the way gluon, Bridge's IMAP engine, cuts it; its quirks with odd input included.

Nothing raises on any bytes. Nesting deeper than `DEPTH` is not opened.
"""

from __future__ import annotations

import re
from functools import cached_property

from mcp_proton.simulator.texts.go_text import SPACE, text
from mcp_proton.simulator.texts.media_types import InvalidMediaType, parse_media_type

DEPTH = 60
_LINE_END = re.compile(rb"\r*\n")


class Section:
    """One part: header, body, and the parts within."""

    def __init__(self, literal: bytes, begin: int, end: int, depth: int = 0) -> None:
        self._literal = literal
        self._begin = begin
        self._end = end
        self._depth = depth
        head_end = header_end(literal, begin, end)
        fields = parse_fields(literal[begin:head_end])
        # A header that can't be read is taken for the beginning of the body.
        self._body = begin if fields is None else head_end
        self.fields: list[Field] = fields or []

    @property
    def header(self) -> bytes:
        """Everything up to and with the empty line."""
        return self._literal[self._begin : self._body]

    @property
    def body(self) -> bytes:
        """What follows the header."""
        return self._literal[self._body : self._end]

    def get(self, name: str) -> str | None:
        """The first field of that name, unfolded; None if there is none."""
        for field in self.fields:
            if field.name == name:
                return field.value
        return None

    @cached_property
    def media_type(self) -> tuple[str, dict[str, str]]:
        """Type and parameters; an empty type where the field can't be read, text/plain where there is none."""
        value = re.sub(r"[^\x00-\x7f]", "", self.get("content-type") or "text/plain")
        try:
            return parse_media_type(value)
        except InvalidMediaType:
            return "", {}

    @cached_property
    def children(self) -> list[Section]:
        """The parts of a multipart; for a message/rfc822, the parts of the message in it."""
        media_type, parameters = self.media_type
        if self._depth >= DEPTH:
            return []
        if media_type == "message/rfc822":
            return self.inner.children
        if not media_type.startswith("multipart/"):
            return []
        boundary = parameters.get("boundary", "").encode("utf-8", "surrogateescape")
        spans = multipart_spans(self._literal, self._body, self._end, boundary)
        return [Section(self._literal, begin, end, self._depth + 1) for begin, end in spans]

    @cached_property
    def inner(self) -> Section:
        """The body read as a message of its own."""
        return Section(self._literal, self._body, self._end, self._depth + 1)


class Field:
    """One header line with its folds: bytes, lower-case name (empty for a line without a colon) and unfolded value."""

    __slots__ = ("name", "raw", "value")

    def __init__(self, name: str, raw: bytes, value: str) -> None:
        self.name = name
        self.raw = raw
        self.value = value


def header_end(literal: bytes, begin: int, end: int) -> int:
    """The offset after the first line that is empty but for carriage returns, or `end`."""
    at = begin
    while at < end:
        newline = literal.find(b"\n", at, end)
        if newline < 0:
            return end
        if newline - at < 64 and not literal[at:newline].strip(b"\r\n"):
            return newline + 1
        at = newline + 1
    return end


_FIELD = re.compile(rb"([!-9;-~]*+):(?![:]|\Z)(?:(?:\r?\n)?[ \t]++)?+((?:[^\r\n]++|\r?\n[ \t])*+)(?:\r?\n|\Z)")
_EMPTY_FIELD = re.compile(rb"([!-9;-~]*+):\r?\n(?=[^ \t])")
_BARE_LINE = re.compile(rb"[^:\n]*+\n")


def parse_fields(header: bytes) -> list[Field] | None:
    """The fields of a header in order, None where gluon refuses it as a whole."""
    fields: list[Field] = []
    at = 0
    while at < len(header):
        if match := _EMPTY_FIELD.match(header, at):
            # gluon loses the line end of a field without a value.
            fields.append(Field(text(match[1]).lower(), match[1], ""))
        elif match := _FIELD.match(header, at):
            fields.append(Field(text(match[1]).lower(), match[0], unfold(match[2])))
        elif match := _BARE_LINE.match(header, at):
            fields.append(Field("", match[0], ""))
        else:
            return None
        at = match.end()
    return fields


def unfold(value: bytes) -> str:
    """Lines trimmed and joined by one blank, as Bridge shows every field."""
    lines = text(value).replace("\r\n", "\n").split("\n")
    if len(lines) == 1:
        return lines[0].strip(SPACE)
    # A line that is empty before trimming adds nothing, one of blanks adds its joint.
    return " ".join(line.strip(SPACE) for line in lines if line)


def multipart_spans(data: bytes, begin: int, end: int, boundary: bytes) -> list[tuple[int, int]]:
    """Begin and end of each part between boundary lines; a part that isn't closed goes on to the end."""
    delimiter = b"--" + boundary
    spans: list[tuple[int, int]] = []
    start: int | None = None
    at = begin
    while at < end and (found := data.find(delimiter, at, end)) >= 0:
        after = found + len(delimiter)
        closing = data.startswith(b"--", after) and after + 2 <= end
        next_line = _line_after(data, after + 2 if closing else after, end, closing=closing)
        line_begin = _line_begin(data, at, found)
        if line_begin is None or next_line is None:
            at = after + 2 * (closing and line_begin is not None)
            continue
        if start is not None:
            spans.append((start, line_begin))
            if closing:
                return spans
        # A closing line that comes first opens the first part as well.
        start = at = next_line
    if start is not None and at < end:
        # Lines that only look like boundaries shorten an open last part: gluon counts from the last of them.
        spans.append((start, start + end - at))
    return spans


def _line_begin(data: bytes, floor: int, at: int) -> int | None:
    """Where the line break before `at` begins; None if `at` isn't the beginning of a line."""
    if at == floor:
        return at
    if data[at - 1 : at] != b"\n":
        return None
    return at - 2 if at - floor >= 2 and data[at - 2 : at - 1] == b"\r" else at - 1


def _line_after(data: bytes, at: int, end: int, *, closing: bool) -> int | None:
    if closing and at >= end:
        return end
    match = _LINE_END.match(data, at, end)
    return match.end() if match else None
