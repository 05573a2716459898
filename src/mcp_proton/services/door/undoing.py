"""Undoing: the requests that take an operation back go through the door like any other; nothing is undone unjudged (P-76)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Conflict, Unsupported
from mcp_proton.domain.operation import Request, Result
from mcp_proton.domain.outcome import Ending, Outcome, Record, Status
from mcp_proton.services.door.asked import rebuilt
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.world import World


class Step(Result):
    """One request of several that take an operation back."""

    operation_id: str | None = None
    status: str
    code: str | None = None


class TakenBack(Result):
    """What became of each."""

    steps: list[Step] = []


async def requests(record: Record, world: World, ctx: Context) -> Sequence[Request]:
    """Return what takes it back. `Conflict` where nothing was done, `Unsupported` where nothing can take it back."""
    if record.status is Status.EXECUTING:
        next_step = "wait for its end, or stop it by `operations_cancel`, and take back what it did by then"
        raise Conflict("it is still being done", code="still_running", next=next_step)
    if record.status not in (Status.SUCCEEDED, Status.PARTIALLY_SUCCEEDED):
        raise Conflict("nothing of this operation was done", code="nothing_done", next="there is nothing to take back")
    operation = primitive(world.catalog.by_name[record.operation])
    done = [fate for fate in await world.journal.fates(record.id) if fate.ending is Ending.DONE]
    if operation.undo is not None and record.outline is not None:
        request = rebuilt(operation, record.outline, [fate.handle for fate in done])
        if operation.found is not None:
            done = list(await operation.found(request, done, 0.0, ctx))
        back = operation.undo(request, done)
        if back:
            return back
    raise Unsupported("this cannot be taken back", code="irreversible", next="nothing was done")


def told(outcomes: Sequence[Outcome[Result]], record: Record) -> Outcome[Result]:
    """Tell how the steps ended, and that what is uncertain was not touched: nobody knows yet whether it is there."""
    whole = merged(outcomes)
    if not record.counts.get(Ending.UNCERTAIN):
        return whole
    later = (
        "what became of some of it is not known yet; ask again in two minutes, and what is there by then is taken back"
    )
    return replace(whole, next="; ".join(filter(None, (whole.next, later))))


def merged(outcomes: Sequence[Outcome[Result]]) -> Outcome[Result]:
    """Tell several outcomes as one: the worst first."""
    if len(outcomes) == 1:
        return outcomes[0]
    steps = [Step(operation_id=one.operation_id, status=one.status, code=one.code) for one in outcomes]
    alike = {one.status for one in outcomes}
    status = alike.pop() if len(alike) == 1 else "partly_done"
    waiting = next((one for one in outcomes if one.status == "approval_pending"), None)
    return Outcome(status=status, result=TakenBack(steps=steps), next=waiting.next if waiting else None)
