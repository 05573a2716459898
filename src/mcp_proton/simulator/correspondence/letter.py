"""One letter of a made-up mailbox, and its RFC 822 text."""

from __future__ import annotations

import base64
import quopri
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.texts.dates import rfc1123
from mcp_proton.simulator.texts.go_text import encode_words
from mcp_proton.simulator.texts.media_types import format_media_type

if TYPE_CHECKING:
    from datetime import datetime, timedelta

Kind = Literal["received", "sent", "draft"]


@dataclass(frozen=True, slots=True)
class File:
    """Something attached; with a `content_id` it is an image shown within the text."""

    name: str
    media_type: str
    content: bytes
    content_id: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Letter:
    """What somebody wrote, when, and where the owner keeps it.

    `ago` counts back from the generator's now. `key` names the letter for those that answer it (`answers`: the keys of
    the thread so far, oldest first). `source` replaces everything from the MIME-Version on, for letters with odd MIME.
    """

    ago: timedelta
    sender: str
    to: str
    subject: str
    text: str = ""
    html: str = ""
    cc: str = ""
    key: str = ""
    answers: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    charset: str = "utf-8"
    encoding: Literal["quoted-printable", "base64", "8bit"] = "quoted-printable"
    source: bytes = b""
    place: str = "inbox"
    labels: tuple[str, ...] = ()
    starred: bool = False
    unread: bool = False
    kind: Kind = "received"
    imported: bool = False
    without: frozenset[str] = field(default_factory=frozenset)


def written(letter: Letter, now: datetime) -> bytes:
    """The letter as it was sent, with CRLF."""
    moment = now - letter.ago
    fields = [
        *_trace(letter, now),
        ("From", address(letter.sender, letter.charset)),
        ("To", address(letter.to, letter.charset)),
        ("Cc", address(letter.cc, letter.charset)),
        ("Subject", words(letter.subject, letter.charset)),
        ("Date", rfc1123(moment)),
        ("Message-ID", f"<{letter.key}>"),
        ("In-Reply-To", f"<{letter.answers[-1]}>" if letter.answers else ""),
        ("References", "\r\n ".join(f"<{key}>" for key in letter.answers)),
        *letter.headers,
        ("MIME-Version", "1.0"),
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in fields if value and name not in letter.without)
    return head.encode("utf-8") + (letter.source or _content(letter))


def _trace(letter: Letter, now: datetime) -> list[tuple[str, str]]:
    if letter.kind != "received":
        return []
    host = letter.sender.rpartition("@")[2].rstrip(">")
    return [("Received", f"from mail.{host} by mail.proton.example; {rfc1123(now - letter.ago)}")]


def address(people: str, charset: str) -> str:
    """`Name <address>, …` with each name quoted or encoded as its writer's program would."""
    if people.isascii():
        return people
    return ", ".join(_person(person, charset) for person in people.split(", "))


def _person(person: str, charset: str) -> str:
    name, bracket, rest = person.partition(" <")
    return f"{words(name, charset)}{bracket}{rest}"


def words(value: str, charset: str) -> str:
    """Encoded words in the writer's charset; plain ASCII stays as it is."""
    if value.isascii():
        return value
    if charset.lower() == "utf-8":
        return encode_words(value).replace("= =", "=\r\n =")
    encoded = base64.b64encode(value.encode(charset)).decode("ascii")
    return f"=?{charset}?B?{encoded}?="


def _content(letter: Letter) -> bytes:
    body = _alternative(letter)
    inline = [_file(file) for file in letter.files if file.content_id]
    if inline:
        body = _multipart("related", [body, *inline], letter.key)
    attached = [_file(file) for file in letter.files if not file.content_id]
    return _multipart("mixed", [body, *attached], letter.key) if attached else body


def _alternative(letter: Letter) -> bytes:
    if not letter.html:
        return _text("plain", letter.text, letter)
    html = _text("html", letter.html, letter)
    return _multipart("alternative", [_text("plain", letter.text, letter), html], letter.key) if letter.text else html


def _text(subtype: str, content: str, letter: Letter) -> bytes:
    raw = content.replace("\n", "\r\n").encode(letter.charset, "replace")
    match letter.encoding:
        case "base64":
            encoded = base64.encodebytes(raw).replace(b"\n", b"\r\n")
        case "quoted-printable":
            encoded = quopri.encodestring(raw).replace(b"\r\n", b"\n").replace(b"=0D\n", b"\n").replace(b"\n", b"\r\n")
        case _:
            encoded = raw
    head = f"Content-Type: text/{subtype}; charset={letter.charset}\r\nContent-Transfer-Encoding: {letter.encoding}\r\n\r\n"
    return head.encode("ascii") + encoded


def _file(file: File) -> bytes:
    name = encode_words(file.name)
    content_type = format_media_type(file.media_type, {**dict(file.parameters), "name": name})
    kind = format_media_type("inline" if file.content_id else "attachment", {"filename": name})
    head = f"Content-Type: {content_type}\r\nContent-Disposition: {kind}\r\n"
    if file.content_id:
        head += f"Content-ID: <{file.content_id}>\r\n"
    if file.media_type == "message/rfc822":
        return head.encode("ascii") + b"\r\n" + file.content
    encoded = base64.encodebytes(file.content).replace(b"\n", b"\r\n")
    return head.encode("ascii") + b"Content-Transfer-Encoding: base64\r\n\r\n" + encoded


def _multipart(subtype: str, pieces: list[bytes], key: str) -> bytes:
    line = f"--{subtype}-{key.partition('@')[0]}"
    head = f'Content-Type: multipart/{subtype}; boundary="{line[2:]}"\r\n\r\n'.encode("ascii")
    delimiter = line.encode("ascii")
    return head + b"".join(delimiter + b"\r\n" + piece + b"\r\n" for piece in pieces) + delimiter + b"--\r\n"
