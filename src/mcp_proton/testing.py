"""Test doubles that are part of the product: an account in memory, a fixed clock, a vault, and a world without a disk.

`MemoryAccount` keeps the same contract as the real backends; one suite runs over all of them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.consequences import Consequence, EffectTable, Evidence
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, Invalid, NotFound, OutOfBounds, OverLimit, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.limits import Limit
from mcp_proton.domain.mail import Envelope, Identity, Mailbox, Role, Structure
from mcp_proton.domain.outcome import SETTLED, Fate, Record, Status, check_move
from mcp_proton.domain.ports import (
    Artifact,
    ArtifactWriter,
    Clock,
    Coverage,
    Covered,
    FlagChange,
    Found,
    Health,
    MailBackend,
    Opening,
    Order,
    Page,
    Standing,
)
from mcp_proton.domain.query import Query, matches
from mcp_proton.mime import headers as mime_headers
from mcp_proton.mime import outline as mime_outline
from mcp_proton.mime import searching, selecting
from mcp_proton.policy.model import Policy

EPOCH = datetime(2026, 11, 30, 12, tzinfo=UTC)
"""The instant at which a `FixedClock` starts."""


class FixedClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The instant it was wound to."""
        return self._now

    def monotonic(self) -> float:
        """The seconds it was wound on by."""
        return self._elapsed

    def wind(self, **by: float) -> None:
        """Move on, by the arguments of `timedelta`."""
        step = timedelta(**by)
        self._now += step
        self._elapsed += step.total_seconds()


class MemoryVault:
    """Secrets in a dictionary."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = dict(secrets)

    async def secret(self, account: str) -> str:
        """Return the account's secret, or raise KeyError."""
        return self._secrets[account]


@dataclass
class _Stored:
    uid: int
    raw: bytes
    received: datetime
    flags: frozenset[str] = frozenset()


@dataclass
class _Box:
    mailbox: Mailbox
    generation: int = 1
    next_uid: int = 1
    mail: dict[int, _Stored] = field(default_factory=dict)


class MemoryAccount:
    """A whole mail account in memory. `calls` names every method that was used, so that a test can spy on it."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.calls: list[str] = []
        self.boxes: dict[str, _Box] = {}
        for path, role in (
            ("INBOX", Role.INBOX),
            ("Sent", Role.SENT),
            ("Drafts", Role.DRAFTS),
            ("Trash", Role.TRASH),
            ("Spam", Role.SPAM),
            ("Archive", Role.ARCHIVE),
        ):
            self.add_mailbox(path, role)

    def add_mailbox(self, path: str, role: Role = Role.FOLDER) -> Mailbox:
        """Make a mailbox."""
        box = Mailbox(self.name, path, path, role)
        self.boxes[path] = _Box(box)
        return box

    def add(self, path: str, raw: bytes, *, received: datetime = EPOCH, flags: frozenset[str] = frozenset()) -> Handle:
        """Put a message into a mailbox and return its handle."""
        box = self.boxes[path]
        stored = _Stored(box.next_uid, raw, received, flags)
        box.mail[stored.uid] = stored
        box.next_uid += 1
        return _handle(box, stored)

    def rebuild(self, path: str) -> None:
        """Give a mailbox a new generation, as a UIDVALIDITY change does: all handles into it go stale."""
        self.boxes[path].generation += 1

    def features(self) -> Mapping[str, Standing]:
        """All there is."""
        return dict.fromkeys(("search", "flags"), Standing.AVAILABLE)

    def consequences(self) -> EffectTable:
        """Flags organise; nothing else is known."""
        return EffectTable(
            [Consequence("set_flags", None, None, frozenset({Effect.ORGANIZE}), "flags changed", Evidence.STANDARD)]
        )

    async def health(self) -> Health:
        """Always well."""
        self.calls.append("health")
        return Health(connected=True, server="memory", syncing=False)

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """Return all mailboxes; counts cost nothing here."""
        self.calls.append("mailboxes")
        return [
            replace(
                box.mailbox,
                total=len(box.mail),
                unread=sum("seen" not in stored.flags for stored in box.mail.values()),
            )
            for box in self.boxes.values()
        ]

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Match decoded text of every message in the scope; always complete."""
        self.calls.append("search")
        hits: list[tuple[datetime, Handle, Envelope]] = []
        for mailbox in scope:
            box = self._box(mailbox.path)
            for stored in box.mail.values():
                envelope = _envelope(box, stored)
                if matches(query, searching.candidate(stored.raw, envelope)):
                    hits.append((stored.received, envelope.handle, envelope))
        hits.sort(key=lambda hit: (hit[0], str(hit[1])), reverse=page.order is Order.NEWEST)
        start = _position(hits, page, scope, self.boxes)
        rows = [envelope for _, _, envelope in hits[start : start + page.limit]]
        more = start + page.limit < len(hits)
        covered = tuple(
            Covered(one.path, len(self.boxes[one.path].mail), len(self.boxes[one.path].mail)) for one in scope
        )
        coverage = Coverage(
            complete=True, order=f"{page.order} first, by date received", mailboxes=covered, by_us=("all",)
        )
        after = f"{_generations(scope, self.boxes)}~{rows[-1].handle}" if more else None
        return Found(rows, coverage, after)

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Return envelopes of what is still there."""
        self.calls.append("envelopes")
        found = []
        for handle in handles:
            try:
                found.append(_envelope(*self._find(handle)))
            except Stale:
                continue
        return found

    async def structure(self, handle: Handle) -> Structure:
        """Return the outline."""
        self.calls.append("structure")
        box, stored = self._find(handle)
        root = mime_outline.outline(stored.raw).root
        return Structure(replace(_envelope(box, stored), has_attachments=selecting.has_attachments(root)), root)

    async def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the octets of a section in one chunk."""
        self.calls.append("fetch")
        octets = mime_outline.section(self._find(handle)[1].raw, part)
        if octets is None:
            raise NotFound("there is no such part", code="no_such_part")
        yield octets[start : None if limit is None else start + limit]

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Return the header blocks of what is still there."""
        self.calls.append("headers")
        found = {}
        for handle in handles:
            try:
                found[handle] = mime_outline.section(self._find(handle)[1].raw, "HEADER") or b""
            except Stale:
                continue
        return found

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Change flags, one fate a handle."""
        self.calls.append("set_flags")
        fates = []
        for handle in handles:
            try:
                stored = self._find(handle)[1]
            except Stale as error:
                fates.append(Fate.of_error(handle, error))
                continue
            stored.flags = (stored.flags | change.add) - change.remove
            fates.append(Fate.done(handle))
        return fates

    async def identities(self) -> Sequence[Identity]:
        """One made-up address."""
        return [Identity(f"{self.name}@example.org", self.name.title())]

    async def aclose(self) -> None:
        """Nothing to close."""
        self.calls.append("aclose")

    def _box(self, path: str) -> _Box:
        if path not in self.boxes:
            raise NotFound("there is no such mailbox")
        return self.boxes[path]

    def _find(self, handle: Handle) -> tuple[_Box, _Stored]:
        for box in self.boxes.values():
            if box.mailbox.tag == handle.tag:
                generation, _, uid = handle.key.partition("-")
                if not (generation.isdigit() and uid.isdigit()):
                    raise Invalid("this is not a handle of this account", code="invalid_handle")
                stored = box.mail.get(int(uid)) if int(generation) == box.generation else None
                if stored is None:
                    raise Stale("this handle no longer points at a message")
                return box, stored
        raise Stale("the mailbox this handle names is gone")


def _handle(box: _Box, stored: _Stored) -> Handle:
    return Handle(box.mailbox.account, box.mailbox.tag, f"{box.generation}-{stored.uid}")


def _envelope(box: _Box, stored: _Stored) -> Envelope:
    return mime_headers.envelope(
        mime_outline.section(stored.raw, "HEADER") or b"",
        handle=_handle(box, stored),
        received=stored.received,
        size=len(stored.raw),
        flags=stored.flags,
    )


def _generations(scope: Sequence[Mailbox], boxes: Mapping[str, _Box]) -> str:
    return ".".join(str(boxes[one.path].generation) for one in scope)


def _position(
    hits: Sequence[tuple[datetime, Handle, Envelope]], page: Page, scope: Sequence[Mailbox], boxes: Mapping[str, _Box]
) -> int:
    if page.continuation is None:
        return 0
    generations, _, last = page.continuation.partition("~")
    if generations != _generations(scope, boxes):
        raise Stale(
            "the mailbox was rebuilt since this list began", code="stale_cursor", next="list again from the start"
        )
    for place, (_, handle, _) in enumerate(hits):
        if str(handle) == last:
            return place + 1
    raise Stale("the last message of the page before is gone", code="stale_cursor", next="list again from the start")


class MemoryAccounts:
    """Accounts that are there from the start; the first is the default."""

    def __init__(self, *backends: MemoryAccount) -> None:
        self._backends = {backend.name: backend for backend in backends}

    @property
    def names(self) -> Sequence[str]:
        """All of them."""
        return list(self._backends)

    @property
    def default(self) -> str | None:
        """The first."""
        return next(iter(self._backends), None)

    def backend(self, name: str) -> MailBackend:
        """Return one."""
        if name not in self._backends:
            raise NotFound("there is no such account")
        return self._backends[name]


class FixedPolicy:
    """A policy that stands until a test puts another in its place."""

    problem: str | None = None

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    async def current(self) -> Policy:
        """What was put here."""
        return self.policy


_GIVEN_BACK = frozenset({Status.DENIED, Status.EXPIRED, Status.CANCELLED})


class MemoryJournal:
    """A journal in lists. `glanced` holds what `glance` was told, in order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[str, Record] = {}
        self._bodies: dict[str, str] = {}
        self._fates: dict[str, list[Fate]] = {}
        self.glanced: list[tuple[str, Status]] = []

    async def open(self, opening: Opening) -> Record:
        """Write down the intent."""
        used = await self.usage(opening.limits)
        if any(used[one] + opening.plan.units(one.effect, one.account) > one.most for one in opening.limits):
            raise OverLimit("a limit is used up")
        name = "op_" + base64.b32encode(f"{len(self._records):010d}".encode()).decode().lower()
        record = Record(
            id=name,
            caller=opening.caller.name,
            operation=opening.operation,
            accounts=opening.plan.accounts,
            effects=opening.plan.effects,
            digest=opening.digest,
            status=opening.status,
            created=self._clock.now(),
            expires=opening.expires,
            summary=opening.summary,
        )
        self._records[name], self._bodies[name] = record, opening.body
        return record

    def glance(self, opening: Opening, status: Status) -> None:
        """Note a finished read."""
        self.glanced.append((opening.operation, status))

    async def read(self, operation_id: str, caller: Caller) -> Record:
        """Return a record of the caller's."""
        record = self._records.get(operation_id)
        if record is None or not (caller.is_owner or record.caller == caller.name):
            raise NotFound("there is no such operation of yours")
        return record

    async def recent(self, caller: Caller, *, limit: int = 50, statuses: Sequence[Status] = ()) -> Sequence[Record]:
        """Return the newest first."""
        mine = (one for one in self._records.values() if caller.is_owner or one.caller == caller.name)
        return [one for one in mine if not statuses or one.status in statuses][::-1][:limit]

    async def body(self, operation_id: str) -> str:
        """Return the stored request."""
        return self._bodies[operation_id]

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare and set."""
        record = self._records[operation_id]
        if record.status is not before:
            raise Conflict("somebody else was first")
        check_move(before, after)
        ended = self._clock.now() if after in SETTLED else None
        self._records[operation_id] = replace(record, status=after, code=code, ended=ended)
        return self._records[operation_id]

    async def note(self, operation_id: str, fates: Sequence[Fate]) -> None:
        """Write down how items ended."""
        self._fates.setdefault(operation_id, []).extend(fates)

    async def fates(self, operation_id: str) -> Sequence[Fate]:
        """Return how items ended."""
        return self._fates.get(operation_id, [])

    async def expire(self, now: datetime) -> int:
        """Expire what waited too long."""
        waiting = (Status.PENDING, Status.APPROVED)
        late = [one for one in self._records.values() if one.status in waiting and one.expires and one.expires <= now]
        for record in late:
            await self.advance(record.id, record.status, Status.EXPIRED)
        return len(late)

    async def usage(self, limits: Sequence[Limit], *, but: str | None = None) -> Mapping[Limit, int]:
        """Count operations, one unit each; what was denied, expired or withdrawn gives its place back."""
        counted = [one for one in self._records.values() if one.id != but and one.status not in _GIVEN_BACK]
        return {
            limit: sum(
                limit.effect in one.effects
                and limit.client in (None, one.caller)
                and (limit.account is None or limit.account in one.accounts)
                and (self._clock.now() - one.created).total_seconds() <= limit.seconds
                for one in counted
            )
            for limit in limits
        }


class MemoryArtifacts:
    """Artifacts in a dictionary (`kept`, by id). There is no export folder."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Artifact, str, bytes]] = {}

    @asynccontextmanager
    async def create(self, caller: Caller, filename: str, media_type: str) -> AsyncIterator[ArtifactWriter]:
        """Begin one."""
        yield _MemoryWriter(self.kept, caller.name, filename, media_type)

    def export(self, directory: Path, filename: str, media_type: str) -> AbstractAsyncContextManager[ArtifactWriter]:
        """Refuse: no folder was allowed."""
        raise OutOfBounds("there is no such export folder")

    async def find(self, artifact_id: str, caller: Caller) -> Artifact:
        """Return one of the caller's."""
        artifact, owner, _ = self.kept.get(artifact_id, (None, "", b""))
        if artifact is None or owner != caller.name:
            raise NotFound("there is no such artifact of yours")
        return artifact

    async def read(self, artifact: Artifact) -> AsyncIterator[bytes]:
        """Yield it in one chunk."""
        yield self.kept[artifact.id][2]


class _MemoryWriter:
    def __init__(self, kept: dict[str, tuple[Artifact, str, bytes]], caller: str, filename: str, kind: str) -> None:
        self._kept, self._caller, self._filename, self._kind = kept, caller, filename, kind
        self._octets = bytearray()

    async def write(self, chunk: bytes) -> None:
        self._octets += chunk

    async def done(self) -> Artifact:
        digest = hashlib.sha256(self._octets).hexdigest()
        artifact = Artifact(f"a{len(self._kept) + 1}", self._filename, self._kind, len(self._octets), digest)
        self._kept[artifact.id] = (artifact, self._caller, bytes(self._octets))
        return artifact
