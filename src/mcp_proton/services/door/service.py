"""MailService: the one door (P-02). Every call from every surface passes `submit`; reads too.

    judge getting ready → expand and pin → plan → judge doing → journal → perform

Nothing is read or opened before it is judged; what is planned is exactly what is stored; an approval is void when
the world changed; expected outcomes are ordinary answers, never exceptions.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from mcp_proton.domain.caller import Audience, Caller, owner
from mcp_proton.domain.effects import CHANGING, READING, Effect
from mcp_proton.domain.errors import Conflict, Defect, MailError, NotFound, Unavailable, Unsupported
from mcp_proton.domain.operation import Operation, Request, Result, Shorthand
from mcp_proton.domain.outcome import Outcome, Record, Status
from mcp_proton.domain.plan import Plan, ReviewLine
from mcp_proton.domain.ports import Opening
from mcp_proton.policy.decide import decide, limits
from mcp_proton.policy.model import Decision
from mcp_proton.policy.rules import Verdict
from mcp_proton.services.acting import settled
from mcp_proton.services.door import previewing, showing, undoing
from mcp_proton.services.door.approving import Approving
from mcp_proton.services.door.asked import outline
from mcp_proton.services.door.call import Call, Progress
from mcp_proton.services.door.following import Following
from mcp_proton.services.door.offering import Offered, offered
from mcp_proton.services.door.performing import Performing
from mcp_proton.services.door.planning import digest, readying, summary
from mcp_proton.services.door.planning import plan as make_plan
from mcp_proton.services.door.proving import Proving
from mcp_proton.services.door.recovering import Recovery
from mcp_proton.services.door.registry import Definition, primitive
from mcp_proton.services.door.watching import Watching
from mcp_proton.services.door.world import World
from mcp_proton.services.fields import own
from mcp_proton.services.presenting.telling import standing, told
from mcp_proton.services.writing import fetching

_log = logging.getLogger(__name__)


class MailService:
    """What the product does, for whoever is allowed it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.approving = Approving(world)
        self._proving = Proving(world, self)
        self._following = Following(world)
        self._performing = Performing(world, self._proving, self._following)
        self._recovery = Recovery(world, self, self._performing, self._proving, self._following)
        self._recovering: asyncio.Task[None] | None = None
        self.watching = Watching(world, self)

    @property
    def closing(self) -> bool:
        """Whether this process is about to end: what goes on in the background stops between items."""
        return self._performing.closing

    def recover(self) -> None:
        """Settle, in the background, what other processes left: to be called once where the service lives on."""
        if self._recovering is None:
            self._recovering = asyncio.get_running_loop().create_task(self._recover())

    async def aclose(self) -> None:
        """Stop what goes on by itself, within two seconds."""
        if self._recovering is not None:
            self._recovering.cancel()
            await asyncio.gather(self._recovering, return_exceptions=True)
        await self.watching.aclose()
        await self._proving.aclose()
        await self._following.aclose()
        await self._performing.aclose()

    async def _recover(self) -> None:
        for settle in (self._recovery.all, self._proving.all, self._following.all, self.world.clear):
            try:
                if settle is not None:
                    await settle()
            except MailError as error:
                _log.warning("what was left in the middle could not be settled yet: %s", error.message)

    async def submit(self, caller: Caller, request: Request, progress: Progress | None = None) -> Outcome[Result]:
        """Do, ask or refuse. Never raises one of our errors: they are ordinary outcomes, with what to do next."""
        call = Call(self.world, caller, await self.world.policies.current(), self, progress)
        try:
            return await self._through(call, request)
        except MailError as error:
            return told(error)
        except Exception as error:
            # The message of a foreign exception may quote mail: only its kind and the frames are logged.
            frames = "".join(traceback.format_tb(error.__traceback__))
            _log.error("fault in %s: %s\n%s", type(request).__name__, type(error).__name__, frames)
            return told(Defect("a fault of ours stopped this; nothing was repeated"))

    async def _through(self, call: Call, request: Request) -> Outcome[Result]:
        asked = self._definition(call.caller, type(request))
        only_preview = previewing.wanted(request)
        request = own(request)
        ready = await readying(asked, request, call)
        await self.judge(call, ready)  # INVARIANT: nothing is read or opened before this
        waits = await self._fetch_first(call, request, ready)
        if waits is not None:
            return waits
        operation, request = await self._settle(asked, request, call)
        body = request.model_dump_json(by_alias=True)
        request = operation.request.model_validate_json(body)  # INVARIANT: plan exactly what is stored
        doing = await make_plan(operation, request, call)
        planned = ready | doing
        call.reachable, call.planned = planned.accounts, planned
        opening = Opening(
            caller=call.caller,
            operation=operation.name,
            plan=planned,
            digest=digest(operation, doing, body),  # what resuming plans again; getting ready is over by then
            body=body,
            summary=summary(operation, planned, call.found),
            status=Status.EXECUTING,
            background=operation.chunked and len(planned.targets) > self.world.settings.background_from,
            outline=outline(operation, request),
            total=len(operation.items(request)) if operation.items else None,
        )
        if operation.steers:
            return await self._steer(operation, request, call)
        if only_preview:
            self.world.journal.glance(replace(opening, plan=ready), Status.SUCCEEDED)
            decision = await self._decision(call, planned)
            result = previewing.preview(operation, planned, decision, opening.summary, call)
            return Outcome(status="ok", result=result)
        try:
            decision = await self.judge(call, planned)
            if planned.effects & CHANGING:
                await settled.check_plan(self.world, planned)
        except MailError:
            self.world.journal.glance(opening, Status.DENIED)
            raise
        opening = replace(opening, limits=decision.limits)
        if decision.verdict is Verdict.ASK:
            pending = await self._ask(opening, doing, call.policy.approval_lifetime)
            told = planned.doubts or planned.unfamiliar or planned.hosts
            return replace(pending, why=decision.why) if told else pending
        if planned.effects <= READING:
            return await self._read(operation, request, call, opening)
        record = await self.world.journal.open(opening)
        return await self._performing.start(operation, request, call, record)

    async def permit(self, caller: Caller, request: Request) -> Call:
        """Judge a read as it would be judged now, and read nothing; the call holds its plan. Raises what it would be told."""
        call = Call(self.world, caller, await self.world.policies.current(), self)
        asked, request = self._definition(caller, type(request)), own(request)
        await self.judge(call, await readying(asked, request, call))
        operation, request = await self._settle(asked, request, call)
        call.planned = await make_plan(operation, request, call)
        decision = await self.judge(call, call.planned)
        if decision.verdict is Verdict.ASK:
            raise Unsupported(
                "the owner is asked each time this is read", code="asked_each_time", next="read it when you need it"
            )
        return call

    async def offered(self, caller: Caller) -> Offered:
        """Say what there is any use in showing this caller: what the rules do not deny it everywhere."""
        return offered(self.world.catalog, await self.world.policies.current(), caller, self.world.clock.now())

    async def resume(self, caller: Caller, operation_id: str) -> Outcome[Result]:
        """Run the stored request of this caller's approved operation, once. Takes no new arguments (P-32)."""
        record = await self.world.journal.read(operation_id, caller)
        if record.caller != caller.name:
            raise NotFound("there is no such operation of yours")
        record = await self._expired(record)
        if record.status is not Status.APPROVED:
            return standing(record)
        call = Call(self.world, caller, await self.world.policies.current(), self)
        operation, request, planned, body = await self._planned_again(call, record)
        if digest(operation, planned, body) != record.digest:
            await self.world.journal.advance(record.id, Status.APPROVED, Status.EXPIRED, code="changed_since_approval")
            raise Conflict(
                "what would happen has changed since it was approved",
                code="changed_since_approval",
                next="ask for it again; the owner has to look anew",
            )
        await self.judge(call, planned, but=record.id)  # INVARIANT: a DENY since the approval wins
        await settled.check_plan(self.world, planned)  # before the claim: the approval holds until it can be done
        record = await self.world.journal.advance(record.id, Status.APPROVED, Status.EXECUTING)  # the claim: one wins
        call.reachable, call.planned = planned.accounts, planned
        return await self._performing.start(operation, request, call, record)

    async def undo(self, caller: Caller, operation_id: str) -> Outcome[Result]:
        """Take back what an operation of this caller's did: every request that takes is judged and journalled."""
        record = await self.world.journal.read(operation_id, caller)
        record = await self._recovery.settled(record)
        looking = Call(self.world, caller, await self.world.policies.current(), self)
        back = await undoing.requests(record, self.world, looking)
        return undoing.told([await self.submit(caller, request) for request in back], record)

    async def settled(self, record: Record) -> Record:
        """Look what became of a record that nobody runs any more, or whose items are uncertain or unproved."""
        return await self._recovery.settled(record)

    async def resumed(self, caller: Caller, operation_id: str) -> Outcome[Result]:
        """`resume`, whose expected ends are ordinary outcomes."""
        try:
            return await self.resume(caller, operation_id)
        except MailError as error:
            return told(error)

    async def standing(self, caller: Caller, operation_id: str) -> Outcome[Result]:
        """Tell where an operation of this caller's stands."""
        try:
            return standing(await self._expired(await self.world.journal.read(operation_id, caller)))
        except MailError as error:
            return told(error)

    async def decide(self, caller: Caller, operation_id: str, *, approve: bool) -> Outcome[Result]:
        """Answer a waiting operation. Only the owner's own surface may: ids and labels carry no authority (P-41)."""
        if not caller.is_owner:
            raise NotFound("there is no such operation")
        record = await self._expired(await self.world.journal.read(operation_id, caller))
        if record.status is not Status.PENDING:
            return standing(record)
        after = Status.APPROVED if approve else Status.DENIED
        return standing(await self.world.journal.advance(record.id, Status.PENDING, after))

    async def review(self, operation_id: str) -> Plan:
        """Plan a waiting operation again, and say which messages they are, for the owner to look at."""
        record = await self.world.journal.read(operation_id, owner())
        call = Call(self.world, owner(), await self.world.policies.current(), self)
        planned = (await self._planned_again(call, record))[2]
        return planned | Plan(review=await showing.messages(planned, self.world))

    async def shown(self, operation_id: str) -> Sequence[ReviewLine]:
        """Return everything a waiting operation would do, for its owner: looked up now, else as it was when it was asked."""
        try:
            return showing.lines(await self.review(operation_id))
        except Unavailable as error:
            kept = await self.world.journal.shown(operation_id)
            if kept is None:
                raise
            return showing.as_asked(kept, error)

    async def _planned_again(self, call: Call, record: Record) -> tuple[Operation, Request, Plan, str]:
        body = await self.world.journal.body(record.id)
        operation = primitive(self.world.catalog.by_name[record.operation])
        request = operation.request.model_validate_json(body)
        return operation, request, await make_plan(operation, request, call), body

    def _definition(self, caller: Caller, kind: type[Request]) -> Definition:
        definition = self.world.catalog.by_request[kind]
        if primitive(definition).audience is Audience.OWNER and not caller.is_owner:
            raise NotFound(f"there is no operation `{definition.name}`")
        return definition

    async def _settle(self, asked: Definition, request: Request, call: Call) -> tuple[Operation, Request]:
        if isinstance(asked, Shorthand):
            request = await asked.expand(request, call)
        operation = primitive(asked)
        if operation.pin is not None:
            request = await operation.pin(request, call)
        return operation, request

    async def judge(self, call: Call, plan: Plan, *, but: str | None = None) -> Decision:
        """Raise the refusal that a DENY means; return any other decision."""
        decision = await self._decision(call, plan, but=but)
        refused = decision.refusal()
        if refused is not None:
            raise refused
        return decision

    async def _fetch_first(self, call: Call, request: Request, ready: Plan) -> Outcome[Result] | None:
        """Ask for a file that getting ready would fetch. INVARIANT: what is yet to be allowed prepares nothing outside."""
        for url in fetching.urls(request) if Effect.FETCH in ready.effects else ():
            decision = await self._decision(call, fetching.outside(ready, url))
            if decision.verdict is not Verdict.ALLOW:
                fetch = self.world.catalog.by_name[fetching.OPERATION].request.model_validate({"url": url})
                return fetching.first(await self.submit(call.caller, fetch))
        return None

    async def _decision(self, call: Call, plan: Plan, *, but: str | None = None) -> Decision:
        counted = limits(call.policy, call.caller, plan)
        usage = await self.world.journal.usage(counted, but=but) if counted else {}
        return decide(call.policy, call.caller, plan, usage, self.world.clock.now())

    async def _ask(self, opening: Opening, doing: Plan, lifetime: timedelta) -> Outcome[Result]:
        expires, shown = self.world.clock.now() + lifetime, await showing.kept(doing, self.world)
        record = await self.world.journal.open(replace(opening, status=Status.PENDING, expires=expires, shown=shown))
        return standing(record)

    async def _read(self, operation: Operation, request: Request, call: Call, opening: Opening) -> Outcome[Result]:
        try:
            result = await operation.perform(request, call)
        except MailError:
            self.world.journal.glance(opening, Status.FAILED)
            raise
        self.world.journal.glance(opening, Status.SUCCEEDED)
        return Outcome(status="ok", result=result)

    async def _steer(self, operation: Operation, request: Request, call: Call) -> Outcome[Result]:
        result = await operation.perform(request, call)
        return result if isinstance(result, Outcome) else Outcome(status="ok", result=result)

    async def _expired(self, record: Record) -> Record:
        waiting = record.status in (Status.PENDING, Status.APPROVED)
        if waiting and record.expires is not None and record.expires <= self.world.clock.now():
            return await self.world.journal.advance(record.id, record.status, Status.EXPIRED)
        return record
