"""What a Proton account holds of a message: metadata, one body, attachments; or the whole original, kept as it came.

There are four ways in: `delivered` is mail from outside, `imported` what another program imported, `appended` an IMAP
APPEND (an import that Bridge prepares), `composed` a draft; mail sent by SMTP is written `in_composers_form`. Which text
part survives a delivery and the order of attachments are traits of Proton's fake API, the rest is Proton's and Bridge's
doing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mcp_proton.simulator.texts import parts
from mcp_proton.simulator.texts.addresses import Address, AddressError, parse_addresses
from mcp_proton.simulator.texts.go_text import as_json, decode_words, encode_words, known_charset
from mcp_proton.simulator.texts.headers import canonical, fold, gathered
from mcp_proton.simulator.texts.sections import Section

_BRACKETED = re.compile(r"<(.*)>")
# What Bridge adds to a message in which it finds no body.
_EMPTY_TEXT = b"Content-Transfer-Encoding: quoted-printable\r\nContent-Type: text/plain;charset=utf8\r\n\r\n"
# The header that Proton sees of a message kept whole.
_OUTER = ("received", "date", "subject", "to", "from", "content-type", "mime-version", "message-id")


@dataclass(frozen=True, slots=True)
class AccountMessage:
    """A message as Proton's API hands it out, decrypted.

    `whole` is set for messages kept as they came, `content` for all others. A `draft` shows no Reply-To. Addresses
    are those of the API, which Bridge writes over the header's where they differ.
    """

    header: list[tuple[str, str]]
    subject: str
    sender: Address | None
    to: list[Address]
    cc: list[Address]
    bcc: list[Address]
    reply_to: list[Address]
    external_id: str
    content: parts.Content
    whole: bytes | None = None


def delivered(raw: bytes) -> AccountMessage:
    """Mail that came from outside; it always has a Reply-To."""
    message = _parsed(raw)
    found = _metadata(message)
    sender = [found.sender] if found.sender else []
    return replace(
        found,
        subject=_readable(found.subject),
        reply_to=found.reply_to or sender,
        content=parts.of_delivery(message),
    )


def composed(raw: bytes, *, draft: bool, date: str, sender: Address | None = None) -> AccountMessage:
    """A draft made through Bridge, or what was sent from one: only what Proton's composer knows is kept.

    Lost are In-Reply-To, References, Reply-To and every field of one's own. `sender` replaces From, `date` Date.
    """
    message = _parsed(raw)
    found = _metadata(message)
    sender = sender or found.sender
    found = replace(
        found,
        subject=_readable(found.subject),
        external_id=_BRACKETED.sub(r"\1", message.get("message-id") or "").strip(),
        sender=sender,
        reply_to=[sender] if sender and not draft else [],
        content=parts.of_composer(message),
    )
    return in_composers_form(found, date=date)


def in_composers_form(message: AccountMessage, *, date: str, thread: str = "") -> AccountMessage:
    """A message whose header is the one Proton's composer writes; `thread` is the Message-ID list it answers to."""
    people = (
        ("From", [message.sender] if message.sender else []),
        ("To", message.to), ("Cc", message.cc), ("Bcc", message.bcc),
    )  # fmt: skip
    header = [("Subject", encode_words(message.subject))]
    header += [(name, printed(addresses)) for name, addresses in people if addresses]
    header += [("Content-Type", message.content.media_type)]
    header += [("References", thread), ("In-Reply-To", thread.split()[-1])] if thread else []
    header += [("Date", date)]
    header += [("Message-Id", f"<{message.external_id}>")] if message.external_id else []
    return replace(message, header=header)


def imported(raw: bytes) -> AccountMessage:
    """An import as it is: kept whole if it has several text parts, is signed or encrypted, or can't be read."""
    message = _parsed(raw)
    found = _metadata(message)
    texts = parts.inline_texts(message)
    if len(texts) > 1 or parts.is_protected(message):
        return _kept_whole(found, raw)
    if texts and not known_charset(texts[0].media_type[1].get("charset", "utf-8")):
        return _kept_whole(found, _cut_wrong(message))
    return replace(found, content=parts.of_import(message))


def appended(raw: bytes, boundary: str) -> AccountMessage:
    """An APPEND outside Drafts; Bridge adds an empty text to what it can't take for a message with a body."""
    message = _parsed(raw)
    return imported(raw if _has_body(message) else _with_empty_text(message, boundary))


def printed(people: list[Address]) -> str:
    """A list of addresses as Bridge writes it into a header."""
    return ", ".join(map(str, people))


def _parsed(raw: bytes) -> Section:
    return Section(raw, 0, len(raw))


def _metadata(message: Section) -> AccountMessage:
    header = [(as_json(name), as_json(value)) for name, value in gathered(message)]
    # Of a field given twice the API knows the last.
    last = {name.lower(): value for name, value in header}
    senders = _people(last.get("from"))
    return AccountMessage(
        header=header,
        subject=last.get("subject", ""),
        sender=senders[0] if senders else None,
        to=_people(last.get("to")),
        cc=_people(last.get("cc")),
        bcc=_people(last.get("bcc")),
        reply_to=_people(last.get("reply-to")),
        external_id=last.get("message-id", "").strip().removeprefix("<").removesuffix(">"),
        content=parts.Content("text/plain", b"", []),
    )


def _people(value: str | None) -> list[Address]:
    try:
        return parse_addresses(value or "")
    except AddressError:
        return []


def _readable(subject: str) -> str:
    decoded = decode_words(subject)
    return subject if decoded is None else decoded


def _kept_whole(found: AccountMessage, whole: bytes) -> AccountMessage:
    """Of such a message Proton knows little more than From and To; the rest is inside."""
    return replace(found, header=_outer_header(found.header), cc=[], bcc=[], reply_to=[], whole=whole)


def _outer_header(header: list[tuple[str, str]]) -> list[tuple[str, str]]:
    by_name = [(name, value) for wanted in _OUTER for name, value in header if name.lower() == wanted]
    named = {name.lower() for name, _ in by_name}
    made = [("Mime-Version", "1.0")] if "mime-version" not in named else []
    return [(canonical(name), value) for name, value in by_name] + made


def _cut_wrong(message: Section) -> bytes:
    """A text in an unknown charset: its transfer encoding is dropped and as many bytes of the header show up as text."""
    kept = b"".join(field.raw for field in message.fields if field.name != "content-transfer-encoding")
    whole = message.header + message.body
    return kept + whole[len(kept) :]


def _has_body(message: Section) -> bool:
    media_type = message.media_type[0]
    if media_type.startswith("text/"):
        return True
    return media_type == "multipart/mixed" and any(
        child.media_type[0].startswith("text/") and child.get("content-disposition") is None
        for child in message.children
    )


def _with_empty_text(message: Section, boundary: str) -> bytes:
    own = [field for field in message.fields if field.name and not field.name.startswith("content-")]
    moved = [field for field in message.fields if field.name.startswith("content-")]
    if message.media_type[0] == "multipart/mixed":
        boundary = message.media_type[1].get("boundary", boundary)
        inner = [child.header + child.body for child in message.children]
    else:
        head = "".join(fold(canonical(field.name), field.value) for field in moved)
        inner = [head.encode("utf-8", "surrogateescape") + b"\r\n" + _rewritten(message)]
    top = fold("Content-Type", f"multipart/mixed; boundary={boundary}").encode("utf-8", "surrogateescape")
    header = top + b"".join(field.raw for field in own) + b"\r\n"
    return header + _joined([*inner, _EMPTY_TEXT], boundary)


def _rewritten(message: Section) -> bytes:
    """The body without what stands before and after the parts of a multipart."""
    if not (message.media_type[0].startswith("multipart/") and message.children):
        return message.body
    return _joined([child.header + child.body for child in message.children], message.media_type[1].get("boundary", ""))


def _joined(pieces: list[bytes], boundary: str) -> bytes:
    line = b"--" + boundary.encode("utf-8", "surrogateescape")
    return b"\r\n".join(line + b"\r\n" + piece for piece in pieces) + b"\r\n" + line + b"--\r\n"
