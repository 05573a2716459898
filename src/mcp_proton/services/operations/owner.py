"""The owner's powers over waiting operations. The same door and journal; never shown to an agent (P-19, P-41)."""

from __future__ import annotations

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.outcome import Outcome
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.services.fields import OperationId, Stranger
from mcp_proton.services.presenting.answers import instant


class ApprovalsShow(Request):
    """Show everything a waiting operation would do, line by line."""

    operation_id: OperationId


class ApprovalsApprove(Request):
    """Approve a waiting operation."""

    operation_id: OperationId


class ApprovalsDeny(Request):
    """Deny a waiting operation."""

    operation_id: OperationId


class ShownLine(Result):
    """One thing that will happen, or one risk. `from_stranger` marks text that somebody else wrote."""

    label: str
    value: Stranger
    risk: bool = False
    from_stranger: bool = False


class ShownApproval(Result):
    """A waiting operation, from its plan and not from the agent's words."""

    operation_id: str
    operation: str
    client: str
    state: str
    summary: str
    expires_at: str | None = None
    lines: list[ShownLine] = []


async def show(request: ApprovalsShow, ctx: Context) -> ShownApproval:
    """Show what it would do: looked up now, else as it was when it was asked."""
    record = await ctx.journal.read(request.operation_id, ctx.caller)
    return ShownApproval(
        operation_id=record.id,
        operation=record.operation,
        client=record.caller,
        state=record.status.value,
        summary=record.summary,
        expires_at=instant(record.expires) if record.expires else None,
        lines=[_line(one) for one in await ctx.shown(record.id)],
    )


def _line(one: ReviewLine) -> ShownLine:
    return ShownLine(label=one.label, value=one.value, risk=one.risk, from_stranger=one.untrusted)


async def approve(request: ApprovalsApprove, ctx: Context) -> Outcome[Result]:
    """Let it happen once, as shown, while it lasts."""
    return await ctx.decide(request.operation_id, approve=True)


async def deny(request: ApprovalsDeny, ctx: Context) -> Outcome[Result]:
    """Refuse it."""
    return await ctx.decide(request.operation_id, approve=False)


_ID = {"operation_id": "op_abcdefghijklmnop"}

approvals_show = Operation(
    request=ApprovalsShow,
    result=ShownApproval,
    effects=frozenset({Effect.ADMINISTER}),
    perform=show,
    steers=True,
    audience=Audience.OWNER,
    repeatable=True,
    example=_ID,
)

approvals_approve = Operation(
    request=ApprovalsApprove,
    result=Result,
    effects=frozenset({Effect.ADMINISTER}),
    perform=approve,
    steers=True,
    audience=Audience.OWNER,
    example=_ID,
)

approvals_deny = Operation(
    request=ApprovalsDeny,
    result=Result,
    effects=frozenset({Effect.ADMINISTER}),
    perform=deny,
    steers=True,
    audience=Audience.OWNER,
    example=_ID,
)
