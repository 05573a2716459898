"""What was asked, read back from the journal: a stored request, or one made again from its outline and its items."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Operation, Request
from mcp_proton.domain.outcome import Record
from mcp_proton.services.door.world import World
from mcp_proton.services.fields import Mark, marked

MESSAGES = "messages"


def outline(operation: Operation, request: Request) -> str | None:
    """Return a request without its messages, for what can be proved or undone later; it names mailboxes and flags only.

    INVARIANT: no content. An operation whose requests hold some says what may be kept of them.
    """
    if operation.look is None and operation.undo is None and operation.happened is None:
        return None
    if operation.outlined is not None:
        return request.model_dump_json(by_alias=True, include=set(operation.outlined))
    return request.model_dump_json(by_alias=True, exclude={MESSAGES})


def rebuilt(operation: Operation, outlined: str, handles: Sequence[Handle]) -> Request:
    """Return the request that an outline was made of, about these messages."""
    document = json.loads(outlined)
    if MESSAGES in operation.request.model_fields:
        document[MESSAGES] = [str(one) for one in handles]
    return operation.request.model_validate(document)


def items(operation: Operation, request: Request) -> Sequence[Handle]:
    """Return what an operation acts upon: one fate each."""
    if operation.items is not None:
        return operation.items(request)
    return [
        Handle.parse(one)
        for mark, _, value in marked(request)
        if mark is Mark.HANDLE
        for one in (value if isinstance(value, tuple) else (value,))
    ]


def caller_of(record: Record, world: World) -> Caller:
    """Return who asked, as one who asks now."""
    if record.caller == owner().name:
        return owner(Surface.JOB)
    return Caller(record.caller, Audience.AGENT, Surface.JOB, world.settings.accounts_of(record.caller))
