"""An attachment → text, by kind: one reader each, in one table. A kind without a reader gives None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcp_proton.domain.mail import Part

from . import calendar, encoding, html, parse, tables, text
from .notices import Decoded, Notice

Reader = Callable[[Part, bytes], Decoded]


def extract(part: Part, encoded: bytes, *, complete: bool = True) -> Decoded | None:
    """Return the text of a part whose octets were fetched as encoded; None where no reader knows the kind. Never raises."""
    opened = encoding.decode(encoded, part.encoding, complete=complete)
    read = from_octets(part, opened.octets)
    return read and Decoded(read.text, read.notices | opened.notices)


def from_octets(part: Part, octets: bytes) -> Decoded | None:
    """Return the text of a part from its decoded octets."""
    reader = _reader(part)
    return None if reader is None else reader(replace(part, encoding="binary"), octets)


def _reader(part: Part) -> Reader | None:
    """Choose by media type; by the ending of the name where the type says nothing."""
    if part.media_type in _BY_TYPE:
        return _BY_TYPE[part.media_type]
    ending = (part.filename or "").lower().rpartition(".")[2]
    if part.media_type in _VAGUE and ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if part.media_type.startswith("text/") or part.media_type.endswith(("+xml", "+json", "+yaml")):
        return _plain
    return None


def _plain(part: Part, octets: bytes) -> Decoded:
    return text.decode(part, octets)


def _html(part: Part, octets: bytes) -> Decoded:
    source = text.decode(replace(part, media_type="text/html"), octets)
    rendered = html.to_text(source.text)
    return Decoded(rendered.text, source.notices | rendered.notices)


def _table(part: Part, octets: bytes) -> Decoded:
    source = text.decode(part, octets)
    read = tables.to_text(source.text)
    return Decoded(read.text, source.notices | read.notices)


def _calendar(part: Part, octets: bytes) -> Decoded:
    return calendar.to_text(octets, part.charset or "utf-8")


def _message(part: Part, octets: bytes) -> Decoded:
    """Show a forwarded message: who, what, its text, and what is attached to it."""
    message = parse.parse(octets)
    shown = ("from", "to", "cc", "date", "subject")
    lines = [f"{name}: {value}" for name, value in message.headers if name.lower() in shown]
    attached = [f"[attachment: {one.filename}, {one.media_type}]" for one in message.attachments if not one.inline]
    blocks = ["\n".join(lines), message.text.strip(), "\n".join(attached)]
    return Decoded("\n\n".join(block for block in blocks if block), message.notices - {Notice.FILE_NAME_CHANGED})


_VAGUE = frozenset(
    {"application/octet-stream", "application/x-octet-stream", "application/binary", "application/unknown"}
) | {
    "text/plain",
    "application/vnd.ms-excel",
}
_BY_TYPE: dict[str, Reader] = {
    "application/csv": _table,
    "application/ics": _calendar,
    "application/javascript": _plain,
    "application/json": _plain,
    "application/pgp-keys": _plain,
    "application/sql": _plain,
    "application/toml": _plain,
    "application/x-ndjson": _plain,
    "application/x-sh": _plain,
    "application/x-yaml": _plain,
    "application/xhtml+xml": _html,
    "application/xml": _plain,
    "application/yaml": _plain,
    "message/delivery-status": _plain,
    "message/disposition-notification": _plain,
    "message/feedback-report": _plain,
    "message/global": _message,
    "message/rfc822": _message,
    "text/calendar": _calendar,
    "text/comma-separated-values": _table,
    "text/csv": _table,
    "text/html": _html,
    "text/tab-separated-values": _table,
    "text/x-csv": _table,
}
_BY_ENDING: dict[str, Reader] = {
    "csv": _table,
    "tsv": _table,
    "eml": _message,
    "htm": _html,
    "html": _html,
    "ics": _calendar,
    **dict.fromkeys(
        (
            "asc",
            "cfg",
            "conf",
            "diff",
            "ini",
            "json",
            "log",
            "md",
            "patch",
            "rst",
            "sql",
            "toml",
            "txt",
            "vcf",
            "xml",
            "yaml",
            "yml",
        ),
        _plain,
    ),
}
