"""What a scripted JMAP account holds. Mail is parsed by the standard library, not by the code under test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.canaries import words

ROLES = ("inbox", "sent", "drafts", "trash", "junk", "archive")


@dataclass
class Stored:
    """One message. `raw` has CRLF line ends, as servers keep it."""

    id: str
    raw: bytes
    received: datetime
    mailboxes: set[str]
    keywords: set[str] = field(default_factory=set)
    thread: str = ""

    @cached_property
    def parsed(self) -> EmailMessage:
        return BytesParser(EmailMessage, policy=default).parsebytes(self.raw)

    @property
    def blob(self) -> str:
        return f"B{self.id}"


@dataclass
class Folder:
    """One mailbox."""

    id: str
    name: str
    parent: str | None = None
    role: str | None = None
    subscribed: bool = True


class Store:
    """Messages and mailboxes of one account. Every change makes a new state."""

    def __init__(self) -> None:
        self.emails: dict[str, Stored] = {}
        self.folders: dict[str, Folder] = {}
        self.state = 1
        self.uploads: dict[str, bytes] = {}
        self.identities = [{"id": "id1", "name": "Alice", "email": "alice@example.org"}]
        self.sent: list[tuple[str, list[str], bytes]] = []
        """what was submitted: sender, recipients, octets"""
        self._made = 0
        self._threads: dict[str, str] = {}
        for role in ROLES:
            self.folder(role.title(), role=role)

    def folder(self, name: str, parent: str | None = None, role: str | None = None) -> Folder:
        """Make a mailbox."""
        made = Folder(f"mbx{self._next()}", name, parent, role)
        self.folders[made.id] = made
        return made

    def by_role(self, role: str) -> Folder:
        return next(one for one in self.folders.values() if one.role == role)

    def by_name(self, name: str) -> Folder:
        return next(one for one in self.folders.values() if one.name == name)

    def add(
        self,
        raw: bytes,
        *mailboxes: str,
        received: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC),
        keywords: frozenset[str] = frozenset(),
    ) -> Stored:
        """A message arrives."""
        words.plant_mail(raw)
        octets = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        made = Stored(f"e{self._next()}", octets, received, set(mailboxes), set(keywords))
        refers = [*(_ids(made.parsed["references"]) or ()), *(_ids(made.parsed["in-reply-to"]) or ())]
        made.thread = next((self._threads[one] for one in refers if one in self._threads), f"T{made.id}")
        self._threads |= dict.fromkeys(_ids(made.parsed["message-id"]) or (), made.thread)
        self.emails[made.id] = made
        return made

    def _next(self) -> int:
        self._made += 1
        self.state += 1
        return self._made

    def touched(self) -> None:
        self.state += 1

    def upload(self, octets: bytes) -> str:
        """Keep octets that were sent."""
        name = f"U{self._next()}"
        self.uploads[name] = octets
        return name

    def blob(self, blob_id: str) -> bytes | None:
        """The octets of a blob: a message, or a part of one, decoded."""
        if blob_id in self.uploads:
            return self.uploads[blob_id]
        email_id, _, path = blob_id.removeprefix("B").partition("-")
        found = self.emails.get(email_id)
        if found is None or not path:
            return None if found is None else found.raw
        for number, part in enumerate(found.parsed.walk()):
            if str(number) == path and not part.is_multipart():
                return part.get_payload(decode=True)  # type: ignore[return-value]
        return None


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def properties(stored: Stored, wanted: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """An Email object (RFC 8621 §4.1)."""
    told: dict[str, Any] = {"id": stored.id}
    makers: dict[str, Callable[[], Any]] = {
        "blobId": lambda: stored.blob,
        "mailboxIds": lambda: dict.fromkeys(sorted(stored.mailboxes), True),
        "keywords": lambda: dict.fromkeys(sorted(stored.keywords), True),
        "size": lambda: len(stored.raw),
        "receivedAt": lambda: stored.received.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "sentAt": lambda: _date(stored.parsed),
        "subject": lambda: _text(stored.parsed["subject"]),
        "messageId": lambda: _ids(stored.parsed["message-id"]),
        "threadId": lambda: stored.thread,
        "references": lambda: _ids(stored.parsed["references"]),
        "inReplyTo": lambda: _ids(stored.parsed["in-reply-to"]),
        "hasAttachment": lambda: any(one.get_content_disposition() == "attachment" for one in stored.parsed.walk()),
        "headers": lambda: _headers(stored.raw),
        "bodyStructure": lambda: _structure(stored, list(stored.parsed.walk()), stored.parsed),
        "textBody": lambda: [one for one in _texts(stored) if one["type"] == "text/plain"] or _texts(stored),
        "htmlBody": lambda: [one for one in _texts(stored) if one["type"] == "text/html"],
        "bodyValues": lambda: _values(stored, int(arguments.get("maxBodyValueBytes", 0))),
    }
    people = {"from": "from", "to": "to", "cc": "cc", "bcc": "bcc", "replyTo": "reply-to"}
    for name in wanted:
        if name in people:
            told[name] = _people(stored.parsed[people[name]])
        elif name != "id":
            told[name] = makers[name]()
    return told


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _date(parsed: EmailMessage) -> str | None:
    found = parsed["date"]
    return None if found is None or found.datetime is None else found.datetime.isoformat()


def _ids(value: object) -> list[str] | None:
    return None if value is None else [one.strip("<>") for one in str(value).split()]


def _people(value: Any) -> list[dict[str, str]] | None:
    if value is None:
        return None
    return [{"name": one.display_name, "email": one.addr_spec} for one in value.addresses]


def _headers(raw: bytes) -> list[dict[str, str]]:
    head = raw.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
    lines: list[str] = []
    for line in head.split("\r\n"):
        if line[:1] in {" ", "\t"} and lines:
            lines[-1] += "\r\n" + line
        else:
            lines.append(line)
    return [dict(zip(("name", "value"), line.split(":", 1), strict=True)) for line in lines if ":" in line]


def _structure(stored: Stored, parts: list[Any], part: EmailMessage) -> dict[str, Any]:
    number = next(at for at, one in enumerate(parts) if one is part)
    told: dict[str, Any] = {
        "partId": None if part.is_multipart() else str(number),
        "blobId": None if part.is_multipart() else f"{stored.blob}-{number}",
        "type": part.get_content_type(),
        "charset": part.get_content_charset(),
        "disposition": part.get_content_disposition(),
        "name": part.get_filename(),
        "cid": part["content-id"],
        "size": 0 if part.is_multipart() else len(part.get_payload(decode=True) or b""),
        "header:Content-Type:asRaw": _text(part["content-type"]),
        "subParts": None,
    }
    if part.get_content_maintype() == "multipart":
        told["subParts"] = [_structure(stored, parts, one) for one in part.iter_parts()]  # type: ignore[arg-type]
    return told


def _texts(stored: Stored) -> list[dict[str, Any]]:
    found = []
    for number, part in enumerate(stored.parsed.walk()):
        if part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment":
            raw = _text(part["content-type"])
            found.append({"partId": str(number), "type": part.get_content_type(), "header:Content-Type:asRaw": raw})
    return found


def _values(stored: Stored, most: int) -> dict[str, Any]:
    parts = list(stored.parsed.walk())
    told = {}
    for one in _texts(stored):
        text, wrong = _decoded(parts[int(one["partId"])])
        cut = bool(most) and len(text.encode()) > most
        text = text.encode()[:most].decode("utf-8", "ignore") if cut else text
        told[one["partId"]] = {"value": text, "isTruncated": cut, "isEncodingProblem": wrong}
    return told


def _decoded(part: Any) -> tuple[str, bool]:
    """A text, and whether its charset is none that is known."""
    try:
        return part.get_content(), False
    except LookupError:
        return (part.get_payload(decode=True) or b"").decode("ascii", "replace"), True
