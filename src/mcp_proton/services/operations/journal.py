"""The journal family: where a request stands, going on with an approved one, taking one back. Only one's own records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.outcome import INLINE, Ending, Fate, Outcome, Record, Status, weakest
from mcp_proton.services.asking.cursors import seal, unseal
from mcp_proton.services.fields import Cursor, Mark, OperationId
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.presenting.posted import Delivered, delivered
from mcp_proton.services.presenting.telling import standing


class OperationsStatus(Request):
    """Tell where an operation of yours stands. `items`: how each message fared."""

    operation_id: OperationId
    items: bool = False
    cursor: Cursor = None


class OperationsResume(Request):
    """Go on with an operation the owner approved."""

    operation_id: OperationId


class OperationsReconcile(Request):
    """Find out what became of mail whose sending was unsure."""

    operation_id: Annotated[OperationId | None, Mark.TOKEN] = None


class OperationsUndo(Request):
    """Take back what an operation of yours did, if it can be."""

    operation_id: OperationId


class OperationsCancel(Request):
    """Withdraw an operation that waits, or stop one that runs."""

    operation_id: OperationId


class OperationsList(Request):
    """List your latest operations."""

    waiting: Annotated[bool, Mark.TOKEN] = False
    limit: Annotated[int, Field(ge=1, le=50), Mark.TOKEN] = 20


class Item(Result):
    """How one message fared. `now` is its handle afterwards; `proof` how well that is known."""

    handle: str
    fate: str
    now: str | None = None
    code: str | None = None
    why: str | None = None
    proof: str | None = None


class Standing(Result):
    """Where an operation stands, in numbers of messages; `pending` were not begun. `mail`: what became of one it sent."""

    operation: str
    at: str
    done: int = 0
    skipped: int = 0
    failed: int = 0
    uncertain: int = 0
    pending: int = 0
    proof: str | None = None
    mail: Delivered | None = None
    items: list[Item] = []
    cursor: str | None = None


class ReconciledOperation(Result):
    """An operation, and what is known now of the mail it sent."""

    operation_id: str
    state: str
    mail: Delivered | None = None


class Reconciled(Result):
    """What was found out."""

    operations: list[ReconciledOperation] = []


class ListedOperation(Result):
    """One record of the journal."""

    operation_id: str
    operation: str
    state: str
    at: str
    summary: str = ""
    client: str | None = None
    code: str | None = None
    expires_at: str | None = None


class OperationList(Result):
    """Records, newest first."""

    operations: list[ListedOperation] = []


def listed(record: Record, *, client: bool = False) -> ListedOperation:
    """Show a record; it holds no content to show."""
    return ListedOperation(
        operation_id=record.id,
        operation=record.operation,
        state=record.status.value,
        at=instant(record.created),
        summary=record.summary,
        client=record.caller if client else None,
        code=record.code,
        expires_at=instant(record.expires) if record.expires and record.status is Status.PENDING else None,
    )


async def status(request: OperationsStatus, ctx: Context) -> Outcome[Result]:
    """Look it up. What is uncertain or not proved yet is looked at; nothing is done."""
    await ctx.journal.expire(ctx.clock.now())
    record = await ctx.settled(await ctx.journal.read(request.operation_id, ctx.caller))
    return replace(standing(record), result=await _standing(request, record, ctx))


async def _standing(request: OperationsStatus, record: Record, ctx: Context) -> Standing:
    count = {ending: record.counts.get(ending, 0) for ending in Ending}
    if record.status is Status.EXECUTING:
        count[Ending.UNCERTAIN] = 0  # what is being done just now is told as pending
    start = int(unseal(request, request.cursor) or 0)
    fates: Sequence[Fate] = ()
    if request.items or request.cursor:
        fates = await ctx.journal.fates(record.id, start, INLINE)
    after = start + len(fates)
    sending = await ctx.sendings.find(record.id)
    return Standing(
        operation=record.operation,
        at=instant(record.created),
        done=count[Ending.DONE],
        skipped=count[Ending.SKIPPED],
        failed=count[Ending.FAILED],
        uncertain=count[Ending.UNCERTAIN],
        pending=0 if Effect.SEND in record.effects else max(0, record.total - sum(count.values())),
        proof=weakest(record.proofs),
        mail=None if sending is None else delivered(sending),
        items=[_item(fate) for fate in fates],
        cursor=seal(request, str(after)) if fates and after < sum(count.values()) else None,
    )


def _item(fate: Fate) -> Item:
    return Item(
        handle=str(fate.handle),
        fate=fate.ending.value,
        now=None if fate.now is None else str(fate.now),
        code=fate.code,
        why=fate.why,
        proof=None if fate.proof is None else fate.proof.value,
    )


async def resume(request: OperationsResume, ctx: Context) -> Outcome[Result]:
    """Run the stored request, once."""
    return await ctx.resume(request.operation_id)


async def reconcile(request: OperationsReconcile, ctx: Context) -> Reconciled:
    """Look in Sent and Drafts for the one named, or for all of the caller's that are unsure. Nothing is sent again."""
    if request.operation_id is not None:
        records = [await ctx.journal.read(request.operation_id, ctx.caller)]
    else:
        records = list(await ctx.journal.recent(ctx.caller, limit=INLINE, statuses=(Status.DELIVERY_UNKNOWN,)))
    found = []
    for record in records:
        settled = await ctx.settled(record)
        sending = await ctx.sendings.find(record.id)
        mail = None if sending is None else delivered(sending)
        found.append(ReconciledOperation(operation_id=record.id, state=settled.status.value, mail=mail))
    return Reconciled(operations=found)


async def undo(request: OperationsUndo, ctx: Context) -> Outcome[Result]:
    """Ask for the opposite, through the door."""
    return await ctx.undo(request.operation_id)


async def cancel(request: OperationsCancel, ctx: Context) -> Outcome[Result]:
    """Cancel what still waits, stop what runs between two messages; anything else (it ran out) is told as it stands."""
    await ctx.journal.expire(ctx.clock.now())
    record = await ctx.journal.read(request.operation_id, ctx.caller)
    if record.status is Status.EXECUTING:
        record = await ctx.journal.stop(record.id)
    if record.status in (Status.PENDING, Status.APPROVED):
        record = await ctx.journal.advance(record.id, record.status, Status.CANCELLED)
    return standing(record)


async def list_operations(request: OperationsList, ctx: Context) -> OperationList:
    """List the caller's records."""
    await ctx.journal.expire(ctx.clock.now())
    statuses = (Status.PENDING, Status.APPROVED) if request.waiting else ()
    records = await ctx.journal.recent(ctx.caller, limit=request.limit, statuses=statuses)
    return OperationList(operations=[listed(one, client=ctx.caller.is_owner) for one in records])


operations_status = Operation(
    request=OperationsStatus,
    result=Standing,
    effects=frozenset(),
    steers=True,
    perform=status,
    repeatable=True,
    uri="mail://operations/{operation_id}",
    example={"operation_id": "op_abcdefghijklmnop"},
)

operations_resume = Operation(
    request=OperationsResume,
    result=ListedOperation,
    effects=frozenset(),
    steers=True,
    perform=resume,
    example={"operation_id": "op_abcdefghijklmnop"},
)

operations_reconcile = Operation(
    request=OperationsReconcile,
    result=Reconciled,
    effects=frozenset(),
    steers=True,
    perform=reconcile,
    repeatable=True,
    example={"operation_id": "op_abcdefghijklmnop"},
)

operations_undo = Operation(
    request=OperationsUndo,
    result=ListedOperation,
    effects=frozenset(),
    steers=True,
    perform=undo,
    example={"operation_id": "op_abcdefghijklmnop"},
)

operations_cancel = Operation(
    request=OperationsCancel,
    result=ListedOperation,
    effects=frozenset(),
    steers=True,
    perform=cancel,
    repeatable=True,
    example={"operation_id": "op_abcdefghijklmnop"},
)

operations_list = Operation(
    request=OperationsList,
    result=OperationList,
    effects=frozenset(),
    steers=True,
    perform=list_operations,
    repeatable=True,
    example={"waiting": True},
)
