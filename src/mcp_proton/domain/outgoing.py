"""Mail on its way out: the letter that was asked for, the octets it becomes, and what is known of its delivery."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Address


class Passage(StrEnum):
    """What octets need to travel unencoded (RFC 2045 §2.7–2.9): lines of up to 998 octets, or else `BINARY`."""

    SEVEN_BIT = "7bit"
    EIGHT_BIT = "8bit"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Something attached: named, typed and pinned by its digest; its octets come from elsewhere when they are needed.

    `size` is in octets as they are, before encoding. `media_type` may carry parameters (`text/csv; charset=utf-8`).
    `content_id` (without angle brackets) makes it an inline part of the HTML. `passage` and `line_feeds` (how many
    line ends are a bare LF) are what a whole message must say of itself to travel as one (RFC 2046 §5.2.1).
    """

    filename: str
    media_type: str
    size: int
    sha256: str
    content_id: str | None = None
    passage: Passage = Passage.BINARY
    line_feeds: int = 0


@dataclass(frozen=True, slots=True)
class Letter:
    """Everything a message is made of, fixed: the same letter always becomes the same octets.

    `message_id`, `in_reply_to` and `references` stand with their angle brackets. `calendar` is the text of an answer to an
    invitation (RFC 5546), sent as an alternative of the text. `bcc` is for drafts and the envelope; no recipient sees it.
    """

    sender: Address
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    subject: str = ""
    text: str = ""
    html: str | None = None
    message_id: str = ""
    date: datetime | None = None
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    calendar: str | None = None

    @property
    def recipients(self) -> tuple[str, ...]:
        """Whom the envelope names: every address of To, Cc and Bcc, once, in that order."""
        return tuple(dict.fromkeys(one.email for one in (*self.to, *self.cc, *self.bcc)))


class Octets(Protocol):
    """A whole message as it goes on the wire (RFC 5322, CRLF), readable as often as needed, never held as a whole."""

    @property
    def size(self) -> int:
        """How many octets there are."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield them from the start."""
        ...


class Delivery(StrEnum):
    """What is known of a mail that was handed to a server. Acceptance is not arrival."""

    ACCEPTED = "accepted"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the server said of one recipient: `code` is its reply (RFC 5321 §4.2), `why` its text, a stranger's words."""

    recipient: str
    accepted: bool
    code: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """How handing over one mail ended.

    ACCEPTED: the server took it for those recipients that are accepted. NOT_SENT: it surely did not leave. UNKNOWN: it may
    have left; it must be looked for, and never be sent again unlooked. `stray`: the server may have left a draft behind.
    `sent` is the copy in Sent, where the server showed it in the same breath.
    """

    delivery: Delivery
    recipients: tuple[Accepted, ...] = ()
    code: str | None = None
    why: str | None = None
    stray: bool = False
    sent: Handle | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a mail of ours was found again, by its Message-ID.

    `settled`: the server's own view is newer than the mail, so that not being there means something.
    """

    sent: Handle | None = None
    drafts: tuple[Handle, ...] = ()
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Repetition:
    """What makes a server take a mail for a repeat of an earlier one, and drop it without a word (B-04)."""

    key: str
    within: timedelta


@dataclass(frozen=True, slots=True)
class Capacity:
    """How large a message may be, in octets as on the wire; None where the server does not tell."""

    submit: int | None = None
    append: int | None = None


class Submits(Protocol):
    """The power to send. An account without it reads, files and drafts only."""

    async def capacity(self) -> Capacity:
        """Return the limits, so that what is too large is refused before anything is sent."""
        ...

    async def anchor(self, handle: Handle) -> str | None:
        """Return the reference (with angle brackets) by which this server ties a mail to that message: last in References.

        A reply is threaded by it, a stored draft is replaced by the mail that names it. None: Message-IDs alone do that.
        """
        ...

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """Return what this server would take a second such mail for. None: it sends what it is given."""
        ...

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """Hand one mail over, once; never tried again by itself.

        What the server (or the sender's rights) would surely refuse is NOT_SENT before anything is sent. Raises
        `Unavailable` only while nothing was sent of it. Cancelled before its last octets went: `CancelledError`, and it
        surely did not leave; cancelled afterwards: UNKNOWN is returned.
        """
        ...

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """Look for a mail of ours in Sent, then in Drafts, received since then (a day's grace). Changes nothing.

        `since` is when it was handed over; what was imported may be dated by its Date header.
        """
        ...

    @property
    def files_sent(self) -> bool:
        """Whether the server puts a copy into Sent by itself, so that appending one would double it.

        As of the last login: to be asked after `submit`.
        """
        ...

    @property
    def marks_answered(self) -> bool:
        """Whether the server marks by itself what a mail answers or passes on."""
        ...
