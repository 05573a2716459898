"""Walking over all ids of a mailbox, page by page, without a gap or a double, or with a refusal (J-60 to J-76, N-4)."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.walk import Interval
from mcp_proton.services.fields import Account, MailboxField, Mark

_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d{1,9})?Z", re.ASCII)
_SORT = "receivedAt ascending"
ANEW = "start again at position 0, without the expected state and fingerprint"


def _utc_date(text: str) -> str:
    """Take a UTCDate (RFC 8620 §1.4) as it is; anything else, a leap second included, is refused (J-64)."""
    found = _UTC.fullmatch(text)
    if found is None or (found[1] is not None and not found[1].strip(".0")):
        raise ValueError("must be a UTC time such as 2026-11-30T08:00:00Z")
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("must be a time that exists") from None
    return text


UtcDate = Annotated[Annotated[str, AfterValidator(_utc_date)] | None, Field(description="UTC, …Z"), Mark.TOKEN]
Checkpoint = Annotated[
    Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,80}$")] | None, Field(description="from the page before"), Mark.TOKEN
]


class MessagesIds(Request):
    """Walk over all handles of a mailbox, oldest first. With both expected values a changed mailbox is refused."""

    mailbox: MailboxField
    account: Account = None
    received_after: UtcDate = None
    received_before: UtcDate = None
    position: Annotated[int, Field(ge=0, le=1 << 31), Mark.TOKEN] = 0
    limit: Annotated[int, Field(ge=1, le=100), Mark.TOKEN] = 50
    expected_query_state: Checkpoint = None
    expected_query_fingerprint: Checkpoint = None

    @model_validator(mode="after")
    def _whole_checkpoint(self) -> MessagesIds:
        if (self.expected_query_state is None) is not (self.expected_query_fingerprint is None):
            raise ValueError("expected_query_state and expected_query_fingerprint go together")
        return self


class IdPage(Result):
    """Handles and where to go on. Without `total` the walk ends at an empty page; with it, where `has_more` is false."""

    ids: list[str] = []
    position: int
    total: int | None = None
    has_more: bool
    next_position: int | None = None
    query_state: str
    query_fingerprint: str


async def walk(request: MessagesIds, ctx: Context) -> IdPage:
    """One page."""
    name = ctx.account(request.account)
    box = await ctx.mailbox(name, request.mailbox)
    fingerprint = _fingerprint(name, box.id, request)
    if request.expected_query_fingerprint not in (None, fingerprint):
        raise Conflict("these are not the arguments the walk began with", code="query_fingerprint_mismatch", next=ANEW)
    within = Interval(request.received_after, request.received_before)
    found = await ctx.backend(name).ids(box, within, request.position, request.limit)
    if request.expected_query_state not in (None, found.state):
        raise Conflict(
            f"the mailbox changed during the walk: its state was {request.expected_query_state}, and is {found.state}",
            code="query_state_changed",
            next=ANEW,
        )
    return IdPage(
        ids=[str(handle) for handle in found.handles],
        position=request.position,
        total=found.total,
        has_more=found.more,
        next_position=request.position + len(found.handles) if found.more else None,
        query_state=found.state,
        query_fingerprint=fingerprint,
    )


def _fingerprint(account: str, mailbox_id: str, request: MessagesIds) -> str:
    """What is walked over, in a form that may stand in a log (J-68)."""
    condition = {"inMailbox": mailbox_id, "after": request.received_after, "before": request.received_before}
    told = json.dumps([account, condition, _SORT], sort_keys=True)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


messages_ids = Operation(
    request=MessagesIds,
    result=IdPage,
    effects=frozenset({Effect.LIST}),
    perform=walk,
    repeatable=True,
    example={"mailbox": "inbox", "limit": 100},
)
