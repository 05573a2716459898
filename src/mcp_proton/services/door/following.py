"""Following: what became of mail that left, or may have left, is found out by looking in Sent and Drafts, for as long as it
takes; nothing is ever sent again (P-92, N-2).

unknown → found in Sent, or not sent · accepted → found, or possibly swallowed · stray drafts of ours are removed ·
delivery reports of the days after are matched to their mail
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import MailError, Stale
from mcp_proton.domain.outcome import Ending, Fate, Record, Status
from mcp_proton.domain.outgoing import Trace
from mcp_proton.domain.sendings import BOUNCES_FOR, Sending, Stage
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.posted import code_of, status_of
from mcp_proton.services.writing import bounces, discarding

_log = logging.getLogger(__name__)
_PAUSES = (0.1, 1.0, 1.0, 2.0, 8.0, 20.0, 40.0)
"""In multiples of `sent_after`: how long to wait before the next look; the last one again and again."""


class Following:
    """Looks after the sendings of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def later(self, operation_id: str) -> None:
        """Look at it again and again until its end is known, as long as this process lives."""
        if operation_id not in self._waiting:
            task = asyncio.get_running_loop().create_task(self._in_time(operation_id))
            self._waiting[operation_id] = task
            task.add_done_callback(lambda _: self._waiting.pop(operation_id, None))

    async def all(self) -> None:
        """Look at every sending whose end is open, and for bounces of all that are young; go on with those still open."""
        since = self._world.clock.now() - BOUNCES_FOR
        for account in self._world.accounts.names:
            sendings = await self._world.sendings.waiting(account, since)
            for sending in sendings:
                if sending.is_open:
                    looked = await self.one(sending.operation)
                    if looked is not None and looked.is_open:
                        self.later(sending.operation)
            await self._bounces_of(account, [one for one in sendings if not one.is_open and self._may_bounce(one)])

    async def one(self, operation_id: str) -> Sending | None:
        """Look at one, and return what is known then. Trouble with the server leaves it as it was."""
        if await self._is_underway(operation_id):  # asked first: what is known is written before an operation ends
            return await self._world.sendings.find(operation_id)
        sending = await self._world.sendings.find(operation_id)
        if sending is None:
            return None
        try:
            looked = await self._looked(sending)
        except MailError as error:
            _log.info("what became of a mail cannot be seen yet: %s", error.message)
            looked = replace(sending, looked=None)
        if looked != sending:
            await self._world.sendings.write(looked)
        await self._settle(looked)
        return looked

    async def after(self, operation_id: str) -> None:
        """Go on looking where a mail that just left is not accounted for yet."""
        try:
            sending = await self._world.sendings.find(operation_id)
        except MailError as error:
            _log.warning("what is known of a mail cannot be read: %s", error.message)
            return
        if sending is not None and sending.is_open:
            self.later(operation_id)

    async def left_as(self, operation_id: str) -> Status | None:
        """Say how an operation that sends stands when it was cut short; None where the store does not tell.

        What was never written down as about to leave has not left. What was may be leaving still: it is unknown from now on.
        """
        try:
            sending = await self._world.sendings.find(operation_id)
            if sending is not None and sending.stage is Stage.BEGUN:
                sending = replace(sending, stage=Stage.UNKNOWN, ended=self._world.clock.now(), code="interrupted")
                await self._world.sendings.write(sending)
        except MailError:
            return None
        return Status.FAILED if sending is None else status_of(sending)

    async def aclose(self) -> None:
        """Stop waiting; the next process looks."""
        tasks = list(self._waiting.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _in_time(self, operation_id: str) -> None:
        for pause in (*_PAUSES, *[_PAUSES[-1]] * 1_000):
            await asyncio.sleep(pause * self._world.settings.sent_after)
            try:
                looked = await self.one(operation_id)
            except MailError as error:
                _log.info("what became of a mail cannot be written: %s", error.message)
                continue
            if looked is None or not looked.is_open:
                return

    async def _is_underway(self, operation_id: str) -> bool:
        """Whether it is being handed over just now, by a process that lives."""
        record = await self._world.journal.read(operation_id, owner())
        return record.status is Status.EXECUTING

    async def _looked(self, sending: Sending) -> Sending:
        backend = self._world.accounts.backend(sending.account)
        submits = backend.submits
        if submits is None:
            return sending
        if sending.is_open:
            trace = await submits.trace(sending.message_id, sending.ended or sending.begun)
            sending = self._judged(sending, trace, files=submits.files_sent)
            sending = await self._without_strays(sending, trace)
        return await self._bounced(sending)

    def _judged(self, sending: Sending, trace: Trace, *, files: bool) -> Sending:
        """Say what a look means.

        Not being there means something only once the server's own view has caught up: the server says so, and it was
        reached all the time that it may take. One that was cut off (Bridge closes its ports then) has heard of nothing yet.
        """
        if trace.sent is not None:
            return replace(sending, stage=Stage.FOUND, sent=trace.sent, code=None)
        now = self._world.clock.now()
        since = sending.looked or now
        sending = replace(sending, looked=since)
        if not files or not trace.settled or now - since < timedelta(seconds=self._world.settings.sent_after):
            return sending
        if sending.stage is Stage.ACCEPTED:
            return replace(sending, stage=Stage.SWALLOWED, code="possibly_swallowed")
        if sending.stage in (Stage.BEGUN, Stage.UNKNOWN):
            return replace(sending, stage=Stage.NOT_SENT, code="not_sent")
        return sending

    async def _without_strays(self, sending: Sending, trace: Trace) -> Sending:
        """Remove the drafts that the server made of our mail, and the owner's that became it, once it is certain that they
        are no mail that was sent: the server's own view has caught up, and the backend spares what is in Sent as well.
        """
        if not trace.settled or sending.stage not in (Stage.FOUND, Stage.NOT_SENT):
            return sending
        over = sending.draft if sending.stage is Stage.FOUND else None
        drafts = list(dict.fromkeys([*trace.drafts, *([over] if over is not None else [])]))
        fates: Sequence[Fate] = ()
        if drafts:
            backend = self._world.accounts.backend(sending.account)
            async with self._world.leases.hold(sending.account):
                fates = await discarding.discard(drafts, backend)
        left = {fate.handle for fate in fates if fate.ending is not Ending.DONE and fate.code != Stale.code}
        return replace(
            sending, stray=bool(left - {over}), draft=sending.draft if over is None or over in left else None
        )

    def _may_bounce(self, sending: Sending) -> bool:
        return self._world.clock.now() - sending.begun <= BOUNCES_FOR and sending.stage is not Stage.NOT_SENT

    async def _bounced(self, sending: Sending) -> Sending:
        if not self._may_bounce(sending):
            return sending
        told = await bounces.found([sending], self._world.accounts.backend(sending.account))
        return replace(sending, bounces=(*sending.bounces, *told.get(sending.operation, ())))

    async def _bounces_of(self, account: str, sendings: Sequence[Sending]) -> None:
        if not sendings:
            return
        try:
            told = await bounces.found(sendings, self._world.accounts.backend(account))
        except MailError as error:
            _log.info("delivery reports cannot be looked for yet: %s", error.message)
            return
        for sending in sendings:
            if sending.operation in told:
                await self._world.sendings.write(replace(sending, bounces=(*sending.bounces, *told[sending.operation])))

    async def _settle(self, sending: Sending) -> None:
        """Bring the journal to what is known now."""
        record: Record = await self._world.journal.read(sending.operation, owner())
        after = status_of(sending)
        if record.status is Status.DELIVERY_UNKNOWN and after is not Status.DELIVERY_UNKNOWN:
            await self._world.journal.advance(record.id, record.status, after, code=code_of(sending) or "found_in_sent")
