"""Batch: many messages, a chunk at a time, so that nothing is lost, doubled or unexplained.

    the intent and the fates before it, durable → act → the next

A chunk is never sent twice. What is interrupted in the middle of one is uncertain until it was looked at; what was not begun
is left. Memory does not grow with what was done.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from mcp_proton.domain.context import Act, Known
from mcp_proton.domain.effects import CHANGING
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.lease import Lease
from mcp_proton.domain.outcome import Ending, Fate, Record, Tally
from mcp_proton.domain.ports import MailBackend
from mcp_proton.services.acting import settled

if TYPE_CHECKING:
    from mcp_proton.services.door.call import Call

_log = logging.getLogger(__name__)

CHUNK = 100
"""Messages a step: below the 150 that Proton's API takes at once, so that no step is done by half."""
_UNKNOWN, _WHY_UNKNOWN = "outcome_unknown", "it was begun, and the answer is not known"


class Stopped(MailError):
    """Somebody asked it to stop."""

    status = "cancelled"
    code = "cancelled"


class PutOffError(Exception):
    """This process ends: a background operation stays as it is, for the next process to go on with."""


class Batch:
    """The messages of one record. One that was begun before is gone on with, not begun anew."""

    def __init__(
        self,
        call: Call,
        record: Record,
        act: Act,
        *,
        provable: bool,
        known: Mapping[Handle, str] | Known | None = None,
        step: int | None = None,
        into: str | None = None,
    ) -> None:
        self._call = call
        self._record = record
        self._act = act
        self._provable = provable
        self._known = known or {}
        self._size = step or CHUNK
        self._into = frozenset() if into is None else frozenset({into})
        self._begun = record.begun
        self._changes = bool(record.effects & CHANGING)
        self._unwritten: Sequence[Fate] = ()
        self._all: Sequence[Handle] = ()

    async def run(self, handles: Sequence[Handle], what: str) -> Tally:
        """Act on all of them; return how they ended."""
        ordered = self._all = in_order(handles)
        tally = Tally(total=len(ordered))
        for ending, count in self._record.counts.items():
            tally.counts[Ending(ending)] = count
        await settled.check(self._call.world, self._record.effects, ordered[self._begun :], also=self._into)
        try:
            for chunk in _chunks(ordered[self._begun :], self._size):
                hindrance = await self._step(chunk, tally)
                if hindrance is not None:
                    tally.stop(hindrance.code, hindrance.message, ordered[self._begun :])
                    break
                await self._call.progress(self._begun, len(ordered), what)
        finally:
            await self._write()
        return tally

    async def _step(self, chunk: Sequence[Handle], tally: Tally) -> MailError | None:
        """Do one chunk, or return what stands in the way of this and the rest. Raised where nothing was done yet."""
        if self._record.background and self._call.door.closing:
            raise PutOffError
        first = self._begun == 0
        hindrance: MailError | None = None
        try:
            await self._call.still_allowed()
            await settled.check(self._call.world, self._record.effects, self._all, look=False, also=self._into)
            async with self._turn(chunk[0].account) as leases:
                with anyio.CancelScope(shield=True):  # cancelling takes effect between chunks, never inside of one
                    hindrance = await self._locked(chunk, tally, leases)
        except MailError as error:
            if first:
                raise
            return error
        return hindrance

    @asynccontextmanager
    async def _turn(self, account: str) -> AsyncIterator[Sequence[Lease]]:
        """Hold the account, where something in it is changed: who only reads takes nobody's turn.

        Two accounts are held in the order of their names, so that nobody waits for another who waits for the first.
        """
        accounts = sorted({account, *self._into}) if self._changes else ()
        async with AsyncExitStack() as held:
            yield [await held.enter_async_context(self._call.world.leases.hold(one)) for one in accounts]

    async def _locked(self, chunk: Sequence[Handle], tally: Tally, leases: Sequence[Lease]) -> MailError | None:
        backend = self._call.backend(chunk[0].account)
        box = await self._call.mailbox_of(chunk[0])
        known = await self._identified(backend, chunk)
        unknown = [Fate(one, Ending.UNCERTAIN, _UNKNOWN, _WHY_UNKNOWN, identity=known.get(one)) for one in chunk]
        intents = [fate for fate in unknown if fate.identity is not None]
        upto = self._begun + len(chunk)
        for lease in leases:
            await lease.check()
        if not await self._call.world.journal.begin(self._record.id, upto, self._unwritten, intents):
            self._unwritten = ()
            return Stopped("it was asked to stop before this one")
        self._begun, self._unwritten = upto, unknown
        try:
            self._unwritten = _complete(unknown, await self._act(backend, box, chunk))
        except MailError as error:
            self._unwritten = _complete(unknown, [Fate.of_error(one, error) for one in chunk])
            if error.status != "unsure":
                raise
        finally:
            tally.add(self._unwritten)
        return None

    async def _identified(self, backend: MailBackend, chunk: Sequence[Handle]) -> Mapping[Handle, str]:
        if self._provable:
            return await backend.identify(chunk)
        return await self._known(backend, chunk) if callable(self._known) else self._known

    async def _write(self) -> None:
        """Write the last fates. Where the store takes nothing more, they are found out by looking, later."""
        with anyio.CancelScope(shield=True):
            try:
                await self._call.world.journal.note(self._record.id, self._unwritten)
            except MailError as error:
                _log.warning("how %d items ended could not be written: %s", len(self._unwritten), error.message)


def in_order(handles: Sequence[Handle]) -> list[Handle]:
    """Return each once, mailbox by mailbox: the order in which they are acted upon, whoever goes on with it."""
    return sorted(dict.fromkeys(handles), key=lambda one: (one.account, one.tag))


def _chunks(ordered: Sequence[Handle], size: int) -> Iterator[Sequence[Handle]]:
    for _, group in itertools.groupby(ordered, key=lambda one: (one.account, one.tag)):
        waiting = list(group)
        for start in range(0, len(waiting), size):
            yield waiting[start : start + size]


def _complete(unknown: Sequence[Fate], told: Sequence[Fate]) -> list[Fate]:
    """Return a fate for every message asked for; one that a backend says nothing about is uncertain."""
    by_handle: Mapping[Handle, Fate] = {fate.handle: fate for fate in told}
    return [_identified(by_handle.get(fate.handle, fate), fate.identity) for fate in unknown]


def _identified(fate: Fate, identity: str | None) -> Fate:
    if fate.identity is not None or identity is None:
        return fate
    return Fate(fate.handle, fate.ending, fate.code, fate.why, fate.now, fate.proof, identity)
