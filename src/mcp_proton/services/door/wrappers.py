"""Port decorators: behaviour that cuts across backends is a wrapper around the port, not a branch in each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from mcp_proton.domain.consequences import EffectTable
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Identity, Mailbox, Role, Structure
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.outgoing import Capacity, Octets, Repetition, Submission, Submits, Trace
from mcp_proton.domain.ports import FlagChange, Found, Health, Home, MailBackend, Page, Standing
from mcp_proton.domain.powers import Conversation, Correspondence, ServerPowers, Vacation
from mcp_proton.domain.query import Query
from mcp_proton.domain.transfer import Whole
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.domain.watching import Watch

T = TypeVar("T")


class RetryReads:
    """A backend whose reads are tried once more after a connection was lost. Writes never are: a lost answer is not a no."""

    def __init__(self, inner: MailBackend) -> None:
        self._inner = inner

    @property
    def lag(self) -> float:
        """As the backend says."""
        return self._inner.lag

    def features(self) -> Mapping[str, Standing]:
        """As the backend says."""
        return self._inner.features()

    def consequences(self) -> EffectTable:
        """As the backend says."""
        return self._inner.consequences()

    async def health(self) -> Health:
        """Not retried: trouble is the answer."""
        return await self._inner.health()

    async def unsettled(self, *, look: bool = True) -> str | None:
        """Tried twice."""
        return await _twice(lambda: self._inner.unsettled(look=look))

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """Tried twice."""
        return await _twice(lambda: self._inner.mailboxes(counts=counts, fresh=fresh))

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Tried twice."""
        return await _twice(lambda: self._inner.search(scope, query, page))

    async def ids(self, box: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """Tried twice."""
        return await _twice(lambda: self._inner.ids(box, within, position, limit))

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Tried twice."""
        return await _twice(lambda: self._inner.envelopes(handles))

    async def structure(self, handle: Handle) -> Structure:
        """Tried twice."""
        return await _twice(lambda: self._inner.structure(handle))

    async def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Goes on once from where a lost connection left it, so that no octet is missing or doubled."""
        got = 0
        for last in (False, True):
            try:
                rest = None if limit is None else limit - got
                async for chunk in self._inner.fetch(handle, part, start=start + got, limit=rest):
                    got += len(chunk)
                    yield chunk
            except Unavailable as error:
                if last or not error.retry:
                    raise
            else:
                return

    async def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Goes on once with what a lost connection left, and inside a message from where it was left."""
        left = dict.fromkeys(handles)
        for last in (False, True):
            try:
                async for one in self._inner.whole(list(left)):
                    del left[one.envelope.handle]
                    yield Whole(one.envelope, self._to_the_end(one))
            except Unavailable as error:
                if last or not error.retry:
                    raise
            else:
                return

    async def _to_the_end(self, message: Whole) -> AsyncIterator[bytes]:
        got = 0
        try:
            async for chunk in message.octets:
                got += len(chunk)
                yield chunk
        except Unavailable as error:
            if not error.retry:
                raise
            async for chunk in self._inner.fetch(message.envelope.handle, start=got):
                yield chunk

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Tried twice."""
        return await _twice(lambda: self._inner.headers(handles))

    def watch(self) -> Watch:
        """As it is: it connects again by itself."""
        return self._inner.watch()

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.set_flags(handles, change)

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """Tried twice."""
        return await _twice(lambda: self._inner.identify(handles))

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.move(handles, to)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.copy(handles, to)

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.reattach(handles, to)

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.label(handles, to)

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.unlabel(handles)

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Never repeated."""
        return await self._inner.destroy(handles)

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Tried twice: it only looks."""
        return await _twice(lambda: self._inner.prove(fates, to, age))

    async def create(self, path: str, role: Role) -> Mailbox:
        """Never repeated."""
        return await self._inner.create(path, role)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """Never repeated."""
        return await self._inner.rename(box, path)

    async def remove(self, box: Mailbox) -> None:
        """Never repeated."""
        await self._inner.remove(box)

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """Never repeated."""
        return await self._inner.append(to, mail, flags=flags, received=received)

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Never repeated."""
        await self._inner.subscribe(box, on=on)

    async def identities(self) -> Sequence[Identity]:
        """Tried twice."""
        return await _twice(self._inner.identities)

    @property
    def trashes_drafts(self) -> bool:
        """As the backend says."""
        return self._inner.trashes_drafts

    @property
    def submits(self) -> Submits | None:
        """What the backend has, looks tried twice."""
        inner = self._inner.submits
        return None if inner is None else RetryLooks(inner)

    @property
    def powers(self) -> ServerPowers | None:
        """What the backend has, looks tried twice."""
        inner = self._inner.powers
        return None if inner is None else RetryPowers(inner)

    async def aclose(self) -> None:
        """Close the backend."""
        await self._inner.aclose()


class RetryLooks:
    """The power to send, whose looks are tried once more after a connection was lost. Sending never is."""

    def __init__(self, inner: Submits) -> None:
        self._inner = inner

    async def capacity(self) -> Capacity:
        """Tried twice."""
        return await _twice(self._inner.capacity)

    async def anchor(self, handle: Handle) -> str | None:
        """Tried twice."""
        return await _twice(lambda: self._inner.anchor(handle))

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """Tried twice."""
        return await _twice(lambda: self._inner.repetition(recipients, mail))

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """Never repeated."""
        return await self._inner.submit(sender, recipients, mail)

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """Tried twice."""
        return await _twice(lambda: self._inner.trace(message_id, since))

    @property
    def files_sent(self) -> bool:
        """As the backend says."""
        return self._inner.files_sent

    @property
    def marks_answered(self) -> bool:
        """As the backend says."""
        return self._inner.marks_answered


class RetryPowers:
    """A server's powers, whose looks are tried once more after a connection was lost. What sets something never is."""

    def __init__(self, inner: ServerPowers) -> None:
        self._inner = inner

    async def conversation(self, handle: Handle, scope: Sequence[Mailbox]) -> Conversation:
        """Tried twice."""
        return await _twice(lambda: self._inner.conversation(handle, scope))

    async def correspondence(self, addresses: Sequence[str]) -> Correspondence:
        """Tried twice."""
        return await _twice(lambda: self._inner.correspondence(addresses))

    async def vacation(self) -> Vacation:
        """Tried twice."""
        return await _twice(self._inner.vacation)

    async def set_vacation(self, vacation: Vacation) -> Vacation:
        """Never repeated."""
        return await self._inner.set_vacation(vacation)

    async def create_identity(self, identity: Identity) -> Identity:
        """Never repeated."""
        return await self._inner.create_identity(identity)


async def _twice(ask: Callable[[], Awaitable[T]]) -> T:
    try:
        return await ask()
    except Unavailable as error:
        if not error.retry:
            raise
    return await ask()
