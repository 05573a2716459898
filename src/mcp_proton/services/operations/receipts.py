"""Receipts: what is remembered of a mail that was sent, for its owner to compare with a message at hand (N-6, A-40)."""

from __future__ import annotations

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.services.fields import OperationId
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.presenting.posted import Delivered, delivered
from mcp_proton.services.writing.dispatching import receipt_of


class ReceiptsShow(Request):
    """Show what is remembered of a mail that was sent."""

    operation_id: OperationId


class Receipt(Result):
    """`wire` is the SHA-256 of the octets that left, `receipt` that over `wire` and the envelope.

    `consistent`: the receipt that was given fits the envelope and the digest that are remembered.
    """

    operation_id: str
    account: str
    sender: str
    recipients: list[str]
    at: str
    size: int
    wire: str
    receipt: str
    consistent: bool
    mail: Delivered


async def show(request: ReceiptsShow, ctx: Context) -> Receipt:
    """Read it from the store; no server is asked."""
    record = await ctx.journal.read(request.operation_id, ctx.caller)
    one = await ctx.sendings.find(record.id)
    if one is None:
        raise NotFound("this operation handed no mail over", code="nothing_sent")
    return Receipt(
        operation_id=record.id,
        account=one.account,
        sender=one.sender,
        recipients=list(one.recipients),
        at=instant(one.begun),
        size=one.size,
        wire=one.wire,
        receipt=one.receipt,
        consistent=one.receipt == receipt_of(one.wire, one.sender, one.recipients),
        mail=delivered(one),
    )


receipts_show = Operation(
    request=ReceiptsShow,
    result=Receipt,
    effects=frozenset({Effect.ADMINISTER}),
    perform=show,
    steers=True,
    audience=Audience.OWNER,
    repeatable=True,
    example={"operation_id": "op_abcdefghijklmnop"},
)
