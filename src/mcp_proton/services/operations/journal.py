"""The journal family: where a request stands, going on with an approved one, taking one back. Only one's own records."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.outcome import Outcome, Record, Status
from mcp_proton.services.answers import instant
from mcp_proton.services.fields import Mark, OperationId
from mcp_proton.services.telling import standing


class OperationsStatus(Request):
    """Tell where an operation of yours stands."""

    operation_id: OperationId


class OperationsResume(Request):
    """Go on with an operation the owner approved."""

    operation_id: OperationId


class OperationsCancel(Request):
    """Withdraw an operation that still waits."""

    operation_id: OperationId


class OperationsList(Request):
    """List your latest operations."""

    waiting: Annotated[bool, Mark.TOKEN] = False
    limit: Annotated[int, Field(ge=1, le=50), Mark.TOKEN] = 20


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
    """Look it up; nothing is done."""
    await ctx.journal.expire(ctx.clock.now())
    return standing(await ctx.journal.read(request.operation_id, ctx.caller))


async def resume(request: OperationsResume, ctx: Context) -> Outcome[Result]:
    """Run the stored request, once."""
    return await ctx.resume(request.operation_id)


async def cancel(request: OperationsCancel, ctx: Context) -> Outcome[Result]:
    """Cancel what still waits; anything else is told as it stands."""
    record = await ctx.journal.read(request.operation_id, ctx.caller)
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
    result=ListedOperation,
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
