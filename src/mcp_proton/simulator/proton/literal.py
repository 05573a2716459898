"""The RFC 822 literal that Bridge serves for a message of the account.

The original is never served. Bridge builds each message from what Proton's API holds: identifying headers come first,
addresses and subject are the API's, the body is quoted-printable UTF-8, files are base64 in a multipart of Bridge's own.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.simulator.proton.account_message import (
    AccountMessage,
    composed,
    imported,
    printed,
)
from mcp_proton.simulator.proton.account_message import (
    appended as _appended,
)
from mcp_proton.simulator.proton.account_message import (
    delivered as _delivered,
)
from mcp_proton.simulator.texts.addresses import Address
from mcp_proton.simulator.texts.dates import EPOCH, ZERO, parse_date, rfc1123
from mcp_proton.simulator.texts.go_text import encode_words
from mcp_proton.simulator.texts.headers import Header, canonical
from mcp_proton.simulator.texts.media_types import format_media_type
from mcp_proton.simulator.texts.sections import Section
from mcp_proton.simulator.texts.transfer_encodings import base64_lines, quoted_printable

if TYPE_CHECKING:
    from mcp_proton.simulator.texts.parts import Attachment

_DOMAIN = "protonmail.internalid"
# The birthday of RFC 822 stands for a time that makes no sense.
_NO_TIME = datetime(1982, 8, 13, tzinfo=UTC)
_FROM_LINE = re.compile(rb"^>?From [^\n]*(?:\n|\Z)", re.MULTILINE)


def serve(
    raw: bytes,
    *,
    delivered: bool,
    internal_id: str,
    gluon_id: str,
    api_time: datetime,
    appended: bool = False,
    draft: bool = False,
    sent: bool = False,
    sender: str | None = None,
) -> bytes:
    """The literal for an account message whose original text is `raw`.

    Args:
        raw: the original, with CRLF.
        delivered: it came by mail; otherwise it was imported.
        internal_id: the API's id; sizes of recordings count 36 characters.
        gluon_id: the UUID of the IMAP engine.
        api_time: the API's time of the message, which is also its INTERNALDATE.
        appended: the import was an APPEND of this Bridge.
        draft: it was made as a draft. Wins over the above.
        sent: it was sent through this Bridge. Wins over the above.
        sender: `Name <address>` of the account, in place of the From of a draft or sent message.
    """
    if draft or sent:
        message = composed(raw, draft=not sent, date=rfc1123(api_time), sender=_address(sender))
    elif delivered:
        message = _delivered(raw)
    elif appended:
        message = _appended(raw, boundary(internal_id, "appended")[:60])
    else:
        message = imported(raw)
    # What was in the account before Bridge's first sync has lost such lines, an APPEND has them still.
    return build(message, internal_id, gluon_id, api_time, from_lines=appended)


def build(
    message: AccountMessage, internal_id: str, gluon_id: str, api_time: datetime, *, from_lines: bool = False
) -> bytes:
    """The literal for what the account holds; without `from_lines`, lines that begin with `From ` are missing in it."""
    header = _header(message, internal_id, api_time)
    top = f"X-Pm-Gluon-Id: {gluon_id}\r\n".encode()
    if message.whole is not None:
        return top + _kept(header, message.whole)
    if not message.content.attachments:
        body = _body(message, from_lines=from_lines)
        _set_text_type(header, message.content.media_type)
        return top + _finished(header) + body
    outer = boundary(internal_id, "mixed")
    header.remove("Content-Transfer-Encoding")
    header.set("Content-Type", f"multipart/mixed; boundary={outer}")
    return top + _finished(header) + _mixed(message, outer, boundary(internal_id, "related"), from_lines=from_lines)


def boundary(internal_id: str, use: str) -> str:
    """A boundary of 64 hexadecimal digits that depends on the message alone."""
    return hashlib.sha256(f"{use} {internal_id}".encode()).hexdigest()


def _address(value: str | None) -> Address | None:
    if value is None:
        return None
    name, _, address = value.rpartition(" <")
    return Address(name, address.removesuffix(">")) if name else Address("", value.strip("<>"))


def _header(message: AccountMessage, internal_id: str, api_time: datetime) -> Header:
    """The header up to its Content fields; each field set stands above those set before."""
    header = Header(message.header)
    if message.subject:
        header.set_if_other("Subject", encode_words(message.subject))
    if message.sender:
        header.set_if_other("From", str(message.sender))
    for name, people in (
        ("Reply-To", message.reply_to), ("To", message.to), ("Cc", message.cc), ("Bcc", message.bcc),
    ):  # fmt: skip
        if people:
            header.set_if_other(name, printed(people))
    if not header.get("Message-Id"):
        header.set("Message-Id", f"<{message.external_id or f'{internal_id}@{_DOMAIN}'}>")
    _set_date(header, api_time)
    header.set("X-Pm-Internal-Id", internal_id)
    header.remove("X-Pm-External-Id")
    if message.external_id:
        header.set("X-Pm-External-Id", f"<{message.external_id}>")
    header.set("X-Pm-Date", rfc1123(api_time))
    references = header.get("References") or ""
    if internal_id not in references:
        header.set("References", f"{references} <{internal_id}@{_DOMAIN}>".strip())
    return header


def _set_date(header: Header, api_time: datetime) -> None:
    found = parse_date(header.get("Date") or "", api_time.year)
    if found is not None and found >= EPOCH:
        return
    header.set("Date", rfc1123(api_time if api_time > EPOCH else _NO_TIME))
    if "X-Original-Date" not in header:
        header.set("X-Original-Date", rfc1123(found or ZERO))


def _set_text_type(header: Header, media_type: str) -> None:
    header.set("Content-Type", format_media_type(media_type, {"charset": "utf-8"}))
    header.set("Content-Transfer-Encoding", "quoted-printable")


def _finished(header: Header) -> bytes:
    if "Mime-Version" not in header:
        header.set("Mime-Version", "1.0")
    return bytes(header)


def _kept(header: Header, whole: bytes) -> bytes:
    """The original body under Bridge's header, which takes over what it lacks."""
    inner = Section(whole, 0, len(whole))
    header.remove("Content-Type")
    for field in inner.fields:
        if field.name and (field.name.startswith("content-") or field.name not in header):
            header.set(canonical(field.name), field.value)
    return _finished(header) + inner.body


def _body(message: AccountMessage, *, from_lines: bool) -> bytes:
    body = message.content.body
    return quoted_printable(body if from_lines else _FROM_LINE.sub(b"", body))


def _mixed(message: AccountMessage, outer: str, related: str, *, from_lines: bool) -> bytes:
    header = Header()
    _set_text_type(header, message.content.media_type)
    first = bytes(header) + _body(message, from_lines=from_lines)
    inline = [_part(file) for file in message.content.attachments if file.disposition == "inline"]
    if inline:
        header = Header()
        header.set("Content-Type", f"multipart/related; boundary={related}")
        first = bytes(header) + _joined([first, *inline], related)
    others = [_part(file) for file in message.content.attachments if file.disposition != "inline"]
    return _joined([first, *others], outer)


def _joined(pieces: list[bytes], delimiter: str) -> bytes:
    line = f"--{delimiter}".encode()
    return b"\r\n".join(line + b"\r\n" + piece for piece in pieces) + b"\r\n" + line + b"--\r\n"


def _part(file: Attachment) -> bytes:
    name = encode_words(file.name)
    embedded = file.media_type == "message/rfc822"
    header = Header()
    if file.content_id:
        header.set("Content-Id", file.content_id)
    header.set(
        "Content-Type", format_media_type(file.media_type, {**dict(file.parameters), "filename": name, "name": name})
    )
    header.set("Content-Disposition", format_media_type(file.disposition, {"filename": name}))
    if not embedded:
        header.set("Content-Transfer-Encoding", "base64")
    return bytes(header) + (file.content if embedded else base64_lines(file.content))
