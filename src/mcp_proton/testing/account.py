"""`MemoryAccount`: a whole mail account in memory, held to the same contract as the real backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mcp_proton.domain.consequences import Consequence, EffectTable, Evidence
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, Invalid, NotFound, Stale, Unsupported, changed_since
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import VIEWS, Envelope, Identity, Mailbox, Role, Structure
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.outgoing import Octets
from mcp_proton.domain.ports import (
    Coverage,
    Covered,
    FlagChange,
    Found,
    Health,
    Home,
    Order,
    Page,
    Standing,
)
from mcp_proton.domain.powers import ServerPowers
from mcp_proton.domain.query import Query, matches
from mcp_proton.domain.transfer import Whole
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.mime import searching
from mcp_proton.mime.structure import outline as mime_outline
from mcp_proton.mime.structure import selecting
from mcp_proton.testing.boxes import (
    CONSEQUENCES,
    Box,
    Stored,
    arrived,
    check_own,
    check_path,
    check_place,
    consequence,
    envelope_of,
    generations,
    handle_of,
    home_of,
    identity_of,
    no_source,
    position,
    stretch,
)
from mcp_proton.testing.clock import EPOCH
from mcp_proton.testing.outgoing import MemoryOctets, MemoryOutgoing
from mcp_proton.testing.shelves import Shelves
from mcp_proton.testing.watching import MemoryWatch


class MemoryAccount(Shelves):
    """A whole mail account in memory. `calls` names every method that was used, so that a test can spy on it.

    With `versioned` off its messages have no versions, as on Bridge.
    """

    lag = 0.0
    trashes_drafts = False
    versioned = True
    powers: ServerPowers | None = None

    def __init__(self, name: str = "memory") -> None:
        super().__init__(name)
        self.calls: list[str] = []
        self.unrest: str | None = None
        self.outgoing = MemoryOutgoing(self)

    def features(self) -> Mapping[str, Standing]:
        """All there is."""
        return dict.fromkeys(("search", "flags", "move", "copy", "labels", "exact_removal", "send"), Standing.AVAILABLE)

    def consequences(self) -> EffectTable:
        """Filing organises, whatever the roles; deleting deletes."""
        removing = [(Role.FOLDER, Effect.DELETE_FOLDER), (Role.LABEL, Effect.DELETE_LABEL)]
        rows = [consequence(*row) for row in CONSEQUENCES]
        draft = Consequence("append", Role.DRAFTS, None, frozenset({Effect.DRAFT}), "a draft", (Evidence.STANDARD,))
        rows.append(draft)
        rows += [
            Consequence("remove", role, None, frozenset({effect}), "deleted", (Evidence.STANDARD,))
            for role, effect in removing
        ]
        return EffectTable(rows)

    async def health(self) -> Health:
        """Always well."""
        self.calls.append("health")
        return Health(connected=True, server="memory", syncing=self.unrest is not None, why=self.unrest)

    async def unsettled(self, *, look: bool = True) -> str | None:
        """As a test says."""
        self.calls.append("unsettled")
        return self.unrest

    def watch(self) -> MemoryWatch:
        """What changes in it, seen by looking."""
        self.calls.append("watch")
        return MemoryWatch(self.boxes)

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """Return all mailboxes; counts cost nothing here."""
        self.calls.append("mailboxes")
        return [
            replace(
                box.mailbox,
                total=len(box.mail),
                unread=sum("seen" not in stored.mail.flags for stored in box.mail.values()),
            )
            for box in self.boxes.values()
        ]

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Match decoded text of every message in the scope; always complete."""
        self.calls.append("search")
        hits: list[tuple[datetime, Handle, Envelope]] = []
        for mailbox in scope:
            box = self.box(mailbox.path)
            for stored in box.mail.values():
                envelope = envelope_of(box, stored)
                if matches(query, searching.candidate(stored.mail.raw, envelope)):
                    hits.append((stored.mail.received, envelope.handle, envelope))
        hits.sort(key=lambda hit: (hit[0], str(hit[1])), reverse=page.order is Order.NEWEST)
        start = position(hits, page, scope, self.boxes)
        rows = [envelope for _, _, envelope in hits[start : start + page.limit]]
        more = start + page.limit < len(hits)
        covered = tuple(
            Covered(one.path, len(self.boxes[one.path].mail), len(self.boxes[one.path].mail)) for one in scope
        )
        coverage = Coverage(
            complete=True, order=f"{page.order} first, by date received", mailboxes=covered, by_us=("all",)
        )
        after = f"{generations(scope, self.boxes)}~{rows[-1].handle}" if more else None
        return Found(rows, coverage, after)

    async def ids(self, box: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """By date, then in the order of arrival."""
        self.calls.append("ids")
        return stretch(self.boxes[box.path], within, position, limit)

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Return envelopes of what is still there."""
        self.calls.append("envelopes")
        found = []
        for handle in handles:
            try:
                found.append(self._shown(*self.held(handle)))
            except Stale:
                continue
        return found

    async def structure(self, handle: Handle) -> Structure:
        """Return the outline."""
        self.calls.append("structure")
        box, stored = self.held(handle)
        root = mime_outline.outline(stored.mail.raw).root
        return Structure(self._shown(box, stored)._replace(has_attachments=selecting.has_attachments(root)), root)

    async def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the octets of a section in one chunk."""
        self.calls.append("fetch")
        octets = mime_outline.section(self.held(handle)[1].mail.raw, part)
        if octets is None:
            raise NotFound("there is no such part", code="no_such_part")
        yield octets[start : None if limit is None else start + limit]

    async def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Yield those that are still there."""
        self.calls.append("whole")
        for handle in handles:
            try:
                box, stored = self.held(handle)
            except Stale:
                continue
            yield Whole(envelope_of(box, stored), MemoryOctets(stored.mail.raw).chunks())

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Return the header blocks of what is still there."""
        self.calls.append("headers")
        found = {}
        for handle in handles:
            try:
                found[handle] = mime_outline.section(self.held(handle)[1].mail.raw, "HEADER") or b""
            except Stale:
                continue
        return found

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Change flags, one fate a handle."""
        self.calls.append("set_flags")

        def mark(handle: Handle, box: Box, stored: Stored) -> Fate:
            guard = change.unchanged_since
            if guard is not None and self.versioned and stored.mail.version > guard:
                raise changed_since()
            stored.mail.flags = (stored.mail.flags | change.add) - change.remove
            stored.mail.version += 1
            return Fate.done(handle) if guard is None or self.versioned else Fate.unguarded(handle)

        return self.each(handles, mark)

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """A digest of the octets."""
        self.calls.append("identify")
        found = {}
        for handle in handles:
            try:
                found[handle] = identity_of(self.held(handle)[1])
            except Stale:
                continue
        return found

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """From one box into another."""
        self.calls.append("move")
        check_place(to)

        def take(handle: Handle, box: Box, stored: Stored) -> Fate:
            target = self._target(to, stored)
            if box.mailbox.role in VIEWS:
                return Fate.of_error(handle, no_source())
            if target is box:
                return Fate.skipped(handle, "already_there", "it is there already")
            del box.mail[stored.uid]
            return arrived(handle, self.put(target, stored.mail), stored)

        return self.each(handles, take)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """A second message with the same octets."""
        self.calls.append("copy")
        check_place(to)
        return self.each(
            handles,
            lambda handle, _, stored: arrived(handle, self.put(self.box(to.path), replace(stored.mail)), stored),
        )

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """No orphans here."""
        self.calls.append("reattach")
        raise Unsupported("there are no messages without a mailbox here")

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """The same message in the label's box too."""
        self.calls.append("label")
        if to.role is not Role.LABEL:
            raise Unsupported("this mailbox is no label", code="unsupported_semantics")

        def add(handle: Handle, box: Box, stored: Stored) -> Fate:
            target = self.box(to.path)
            there = next((one for one in target.mail.values() if one.mail is stored.mail), None)
            if there is not None:
                told = Fate.skipped(handle, "already_there", "it has the label already")
                return told if target is box else replace(told, now=handle_of(target, there))
            return arrived(handle, self.put(target, stored.mail), stored)

        return self.each(handles, add)

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Out of the label's box only."""
        self.calls.append("unlabel")

        def take(handle: Handle, box: Box, stored: Stored) -> Fate:
            if box.mailbox.role is not Role.LABEL:
                return Fate.of_error(handle, no_source())
            del box.mail[stored.uid]
            return Fate.done(handle, proof=Proof.SEEN, identity=identity_of(stored))

        return self.each(handles, take)

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """For good, unless a label holds it."""
        self.calls.append("destroy")

        def take(handle: Handle, box: Box, stored: Stored) -> Fate:
            if box.mailbox.role in VIEWS:
                return Fate.of_error(handle, no_source())
            labels = [one for one in self.boxes.values() if one.mailbox.role is Role.LABEL]
            held = [one.mailbox.path for one in labels if any(it.mail is stored.mail for it in one.mail.values())]
            if held:
                return Fate.of_error(handle, Conflict(f"it is held by {' and '.join(held)}", code="held"))
            del box.mail[stored.uid]
            return Fate.done(handle, proof=Proof.SEEN, identity=identity_of(stored))

        return self.each(handles, take)

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Look it up: nothing here lags behind."""
        self.calls.append("prove")
        return [self._proved(fate, to) for fate in fates]

    async def create(self, path: str, role: Role) -> Mailbox:
        """Make a box."""
        self.calls.append("create")
        if role not in {Role.FOLDER, Role.LABEL}:
            raise Unsupported("a mailbox of this role cannot be made here")
        check_path(path)
        if path in self.boxes:
            raise Conflict("a mailbox of that path exists already", code="name_taken")
        parents = path.split("/")[:-1]
        for depth in range(1, len(parents) + 1):
            if (parent := "/".join(parents[:depth])) not in self.boxes:
                self.add_mailbox(parent, role)
        return self.add_mailbox(path, role)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """Give a box and those below it another path."""
        self.calls.append("rename")
        check_own(box)
        check_path(path)
        if path == box.path or path.startswith(f"{box.path}/"):
            raise Invalid("a mailbox cannot be moved into itself", code="invalid_path")
        if path in self.boxes:
            raise Conflict("a mailbox of that path exists already", code="name_taken")
        for old in [one for one in self.boxes if one == box.path or one.startswith(f"{box.path}/")]:
            moved, new = self.boxes.pop(old), path + old[len(box.path) :]
            moved.mailbox = replace(moved.mailbox, id=new, path=new)
            self.boxes[new] = moved
        return self.boxes[path].mailbox

    async def remove(self, box: Mailbox) -> None:
        """Delete a label, or an empty folder."""
        self.calls.append("remove")
        check_own(box)
        held = self.box(box.path).mail if box.role is Role.FOLDER else {}
        if held or any(one.startswith(f"{box.path}/") for one in self.boxes):
            raise Conflict("this folder is not empty", code="not_empty")
        del self.boxes[box.path]

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """Put a message into a box, as `outgoing` is switched."""
        self.calls.append("append")
        check_place(to)
        self.box(to.path)
        async with self.outgoing.appending(mail) as raw:
            return self.add(to.path, raw, flags=flags, received=received or EPOCH)

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Remembered."""
        self.calls.append("subscribe")
        kept = self.box(box.path)
        kept.mailbox = replace(kept.mailbox, subscribed=on)

    async def identities(self) -> Sequence[Identity]:
        """Those of `outgoing`: one made-up address, unless a test says otherwise."""
        self.calls.append("identities")
        return list(self.outgoing.identities)

    @property
    def submits(self) -> MemoryOutgoing | None:
        """`outgoing`, unless a test took the power to send away."""
        return self.outgoing if self.outgoing.present else None

    async def aclose(self) -> None:
        """Nothing to close."""
        self.calls.append("aclose")

    def _proved(self, fate: Fate, to: Mailbox | Home | None) -> Fate:
        here: Stored | None
        try:
            here = self.held(fate.handle)[1]
        except Stale:
            here = self._rebuilt(fate) if to is None else None
        if here is not None:
            gone = Fate(fate.handle, Ending.FAILED, "not_done", "it is still where it was", identity=fate.identity)
            return fate if fate.ending is Ending.DONE else gone
        if to is None:
            return replace(fate, ending=Ending.DONE, code=None, why=None, proof=Proof.SEEN)
        for box in self.boxes.values():
            for stored in box.mail.values():
                if fate.identity is not None and identity_of(stored) == fate.identity and box.mailbox.role not in VIEWS:
                    now = handle_of(box, stored)
                    return replace(fate, ending=Ending.DONE, code=None, why=None, now=now, proof=Proof.SEEN)
        return replace(fate, proof=Proof.LOST)

    def _rebuilt(self, fate: Fate) -> Stored | None:
        """The message of a stale handle, in the same mailbox under another number."""
        boxes = [box for box in self.boxes.values() if box.mailbox.tag == fate.handle.tag]
        return next((one for box in boxes for one in box.mail.values() if identity_of(one) == fate.identity), None)

    def _shown(self, box: Box, stored: Stored) -> Envelope:
        return envelope_of(box, stored)._replace(version=stored.mail.version if self.versioned else None)

    def _target(self, to: Mailbox | Home, stored: Stored) -> Box:
        return self.box(home_of(self.name, stored) if isinstance(to, Home) else to.path)
