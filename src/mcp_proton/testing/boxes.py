"""What a `MemoryAccount` is made of: messages, their occurrences in boxes, and the rules of changing them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mcp_proton.domain.consequences import Consequence, Evidence
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, Stale, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import VIEWS, Envelope, Mailbox, Role
from mcp_proton.domain.outcome import Fate, Proof
from mcp_proton.domain.ports import Home, Page
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.mime.header import headers as mime_headers
from mcp_proton.mime.structure import outline as mime_outline


@dataclass
class Mail:
    """A message as such: what all its occurrences share."""

    raw: bytes
    received: datetime
    flags: frozenset[str] = frozenset()
    version: int = 1


@dataclass
class Stored:
    """An occurrence. Occurrences of one message under a label share its `mail`."""

    uid: int
    mail: Mail


@dataclass
class Box:
    """A mailbox and what is in it, by UID."""

    mailbox: Mailbox
    generation: int = 1
    next_uid: int = 1
    mail: dict[int, Stored] = field(default_factory=dict)


def handle_of(box: Box, stored: Stored) -> Handle:
    """The handle of an occurrence."""
    return Handle(box.mailbox.account, box.mailbox.tag, f"{box.generation}-{stored.uid}")


def stretch(box: Box, within: Interval, position: int, limit: int) -> Stretch:
    """A stretch of its handles, by date."""
    since, until = within.since, within.until
    found = [
        (stored.mail.received, uid, handle_of(box, stored))
        for uid, stored in box.mail.items()
        if (since is None or stored.mail.received >= since) and (until is None or stored.mail.received < until)
    ]
    handles = [handle for _, _, handle in sorted(found)]
    state = hashlib.sha256(repr(handles).encode()).hexdigest()[:24]
    chosen = handles[position : position + limit]
    return Stretch(chosen, len(handles), state, position + len(chosen) < len(handles))


def envelope_of(box: Box, stored: Stored) -> Envelope:
    """What a list shows of it."""
    return mime_headers.envelope(
        mime_outline.section(stored.mail.raw, "HEADER") or b"",
        handle=handle_of(box, stored),
        received=stored.mail.received,
        size=len(stored.mail.raw),
        flags=stored.mail.flags,
    )


CONSEQUENCES = (
    ("set_flags", Effect.ORGANIZE, "flags changed"),
    ("move", Effect.ORGANIZE, "moved"),
    ("copy", Effect.ORGANIZE, "copied"),
    ("label", Effect.ORGANIZE, "labelled"),
    ("unlabel", Effect.ORGANIZE, "the label was taken off"),
    ("destroy", Effect.DESTROY, "deleted for good"),
    ("mark_deleted", Effect.DESTROY, "marked, so that any mail program may delete it for good"),
    ("unmark_deleted", Effect.ORGANIZE, "the mark is taken off"),
    ("append", Effect.IMPORT, "stored as it is"),
    ("create", Effect.ORGANIZE, "made"),
    ("rename", Effect.ORGANIZE, "renamed"),
    ("subscribe", Effect.ORGANIZE, "shown or hidden"),
    ("set_vacation", Effect.AUTOMATE, "the server answers by itself"),
    ("create_identity", Effect.AUTOMATE, "mail can be sent as one more address"),
)


def consequence(verb: str, effect: Effect, result: str) -> Consequence:
    """One row, whatever the roles."""
    return Consequence(verb, None, None, frozenset({effect}), result, (Evidence.STANDARD,))


def identity_of(stored: Stored) -> str:
    """What a message is known again by."""
    return hashlib.sha256(stored.mail.raw).hexdigest()[:16]


def home_of(account: str, stored: Stored) -> str:
    """The path of the box where a message of its kind belongs."""
    head = mime_outline.section(stored.mail.raw, "HEADER") or b""
    if "draft" in stored.mail.flags:
        return "Drafts"
    return "Sent" if f"<{account}@example.org>".encode() in head.split(b"\nTo:")[0] else "INBOX"


def arrived(handle: Handle, now: Handle, stored: Stored) -> Fate:
    """The fate of what is in another box now."""
    return Fate.done(handle, now, proof=Proof.SEEN, identity=identity_of(stored))


def no_source() -> Unsupported:
    """The error for a mailbox the verb is not for."""
    return Unsupported("this is not done in a mailbox of this role", code="unsupported_semantics")


def check_place(to: Mailbox | Home) -> None:
    """Raise `Unsupported` for a destination that is no place."""
    if not isinstance(to, Home) and (to.role in VIEWS or not to.selectable):
        raise Unsupported("this mailbox is no place to put mail into", code="unsupported_semantics")


def check_path(path: str) -> None:
    """Raise `Invalid` for a path no mailbox can have."""
    if not path.isprintable() or any(not one or one != one.strip() for one in path.split("/")):
        raise Invalid("no mailbox can have this path", code="invalid_path")


def check_own(box: Mailbox) -> None:
    """Raise `Unsupported` for a mailbox that is not the owner's own."""
    if box.role not in {Role.FOLDER, Role.LABEL}:
        raise Unsupported("a mailbox of this role stays as it is")


def generations(scope: Sequence[Mailbox], boxes: Mapping[str, Box]) -> str:
    """What a continuation depends on: no box was rebuilt since."""
    return ".".join(str(boxes[one.path].generation) for one in scope)


def position(
    hits: Sequence[tuple[datetime, Handle, Envelope]], page: Page, scope: Sequence[Mailbox], boxes: Mapping[str, Box]
) -> int:
    """Where a page begins. `Stale` when its continuation no longer fits."""
    if page.continuation is None:
        return 0
    seen, _, last = page.continuation.partition("~")
    if seen != generations(scope, boxes):
        raise Stale(
            "the mailbox was rebuilt since this list began", code="stale_cursor", next="list again from the start"
        )
    for place, (_, handle, _) in enumerate(hits):
        if str(handle) == last:
            return place + 1
    raise Stale("the last message of the page before is gone", code="stale_cursor", next="list again from the start")
