"""Mail as people know it: mailboxes with roles, envelopes, parts, messages. No protocol's words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from mcp_proton.domain.handles import Handle, mailbox_tag


class Role(StrEnum):
    """What a mailbox is for. Policy and effect tables speak of roles, never of names."""

    INBOX = "inbox"
    SENT = "sent"
    DRAFTS = "drafts"
    TRASH = "trash"
    SPAM = "spam"
    ARCHIVE = "archive"
    ALL = "all"
    STARRED = "starred"
    SCHEDULED = "scheduled"
    FOLDER = "folder"
    LABEL = "label"
    RECOVERED = "recovered"
    NODE = "node"


UNIQUE_ROLES = frozenset(Role) - {Role.FOLDER, Role.LABEL, Role.NODE}
"""Roles that at most one mailbox of an account has."""

VIEWS = frozenset({Role.ALL, Role.STARRED, Role.LABEL})
"""Mailboxes that show mail whose place is another one."""


class Flag(StrEnum):
    """Message flags by the names of RFC 8621 §4.1.1, without the dollar sign. Other keywords are plain strings."""

    SEEN = "seen"
    FLAGGED = "flagged"
    ANSWERED = "answered"
    DRAFT = "draft"
    FORWARDED = "forwarded"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A place messages are listed in. `id` is the backend's own name of it; `path` is for people."""

    account: str
    id: str
    path: str
    role: Role
    delimiter: str = "/"
    selectable: bool = True
    subscribed: bool | None = None
    total: int | None = None
    unread: int | None = None

    @property
    def tag(self) -> str:
        """The mailbox's part of a handle."""
        return mailbox_tag(self.id)

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rsplit(self.delimiter, 1)[-1] if self.delimiter else self.path


_PLAIN = re.compile(r"[\w '\-\x80-\U0010ffff]*", re.ASCII)
"""A name that is shown without quotation marks."""


@dataclass(frozen=True, slots=True)
class Address:
    """A mailbox of RFC 5322 §3.4: `email` is `local@domain`, or empty where the header held none."""

    name: str
    email: str

    def __str__(self) -> str:
        if not self.name:
            return self.email
        shown = self.name
        if not _PLAIN.fullmatch(shown):
            escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
            shown = f'"{escaped}"'
        return f"{shown} <{self.email}>" if self.email else shown


class Envelope(NamedTuple):
    """What a list shows of one occurrence. All text is decoded; what strangers wrote is not yet neutralised.

    A tuple, since pages are full of them and a frozen dataclass takes six times as long to make. `version` grows with
    every change of its flags, within one mailbox; known of messages that were named, where the server counts (RFC 7162).
    """

    handle: Handle
    subject: str = ""
    sender: tuple[Address, ...] = ()
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    date: datetime | None = None
    received: datetime | None = None
    size: int = 0
    flags: frozenset[str] = frozenset()
    message_id: str = ""
    in_reply_to: str = ""
    has_attachments: bool | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One node of a message's structure.

    `path` is the section number of RFC 9051 §6.4.5 ("" for a multipart at the root). `size` counts encoded octets;
    `filename` is decoded, not yet made safe for a file system.
    """

    path: str
    media_type: str
    size: int = 0
    encoding: str = "7bit"
    charset: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    disposition: str | None = None
    filename: str | None = None
    content_id: str | None = None
    children: Sequence[Part] = ()

    def walk(self) -> Sequence[Part]:
        """Return this node and all below it, in order of appearance."""
        found: list[Part] = []
        waiting = [self]
        while waiting:
            part = waiting.pop()
            found.append(part)
            waiting.extend(reversed(part.children))
        return found


@dataclass(frozen=True, slots=True)
class Structure:
    """A message's outline: enough to choose what to fetch, without its content."""

    envelope: Envelope
    root: Part


class AttachmentKind(StrEnum):
    """What an attachment is to a person, where that says more than its media type."""

    FILE = "file"
    MESSAGE = "message"
    CALENDAR = "calendar"
    CONTACT = "contact"
    REPORT = "report"
    SIGNATURE = "signature"
    ENCRYPTED = "encrypted"
    KEY = "key"
    OUTLOOK = "outlook_bundle"
    """`winmail.dat` (TNEF): the real attachments are inside."""
    ELSEWHERE = "elsewhere"
    """Only names a place where the content is."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part that a person would call an attachment. `index` counts from 1 in order of appearance.

    `filename` is safe on any file system; `part.filename` is what the sender wrote. `inline`: it belongs to the text.
    """

    index: int
    part: Part
    filename: str
    media_type: str
    size: int
    inline: bool
    kind: AttachmentKind = AttachmentKind.FILE


@dataclass(frozen=True, slots=True)
class Message:
    """The readable meaning of a message: decoded, bounded, and honest about what was changed on the way (`notices`).

    `text` is always plain text (made from HTML where there was no plain part); `html` is the original HTML, decoded
    but not sanitised, where one exists. `notices` are stable words such as `hidden_text_removed` or `charset_guessed`.
    """

    headers: Sequence[tuple[str, str]]
    text: str
    html: str | None = None
    attachments: Sequence[Attachment] = ()
    notices: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Identity:
    """An address the account may send as.

    `role`: its local part names an office (`postmaster`, `noreply`), not a person; the owner has configured it all the
    same. `signature` is plain text, without the dashes before it.
    """

    email: str
    name: str = ""
    role: bool = False
    signature: str = ""
