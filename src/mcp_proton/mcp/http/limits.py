"""Limits: how many calls a client makes a minute and at once, and how long one may take (J-100).

What is over a limit is an ordinary answer that says when to come back. Calls wait their turn between clients first: one with
a hundred waits behind every other's first.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import READING
from mcp_proton.domain.errors import Ambiguous, MailError, OverLimit, Unavailable
from mcp_proton.domain.turns import Turns
from mcp_proton.mcp.hints import base_effects
from mcp_proton.mcp.http.bearers import present
from mcp_proton.mcp.http.rates import Rate
from mcp_proton.services.door.registry import Definition, primitive
from mcp_proton.services.fields import additions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.config.serving import Serving
    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.operation import Request, Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.mcp.doorway import Submit

RATE_LIMITED, BUSY, TOO_LONG = "rate_limited", "busy", "deadline_exceeded"
_WAITING_EACH = 64
_MINUTE = 60.0


class Limits:
    """The owner's limits, as a gate before the door."""

    def __init__(self, service: Serving) -> None:
        self.turns = Turns(service.calls_at_once)
        self._reads = Rate(service.reads_per_minute, _MINUTE)
        self._writes = Rate(service.writes_per_minute, _MINUTE)
        self._seconds = service.call_seconds
        self._waiting: Counter[str] = Counter()

    async def __call__(
        self, caller: Caller, definition: Definition | None, request: Request | None, submit: Submit
    ) -> Outcome[Result]:
        """Let a call through in its turn, within its time. Raises what keeps it from that."""
        changes = may_change(definition, request)
        self._count(caller.name, changes=changes)
        begun = False
        try:
            async with asyncio.timeout(self._seconds), self._turn(caller.name):
                begun = True
                return await submit()
        except TimeoutError:
            raise _too_long(self._seconds, may_have_acted=begun and changes) from None

    def _count(self, client: str, *, changes: bool) -> None:
        """Count a call for its client and for what vouched for it; both must have room (J-100)."""
        bearer = present()
        keys = [f"client {client}", *([f"subject {bearer.subject}"] if bearer else [])]
        wait = (self._writes if changes else self._reads).take(*keys)
        if wait:
            what = "changes" if changes else "reads"
            raise OverLimit(
                f"these are more {what} in a minute than the owner lets this client make",
                code=RATE_LIMITED,
                next=f"try again in {math.ceil(wait)} s",
            )

    @asynccontextmanager
    async def _turn(self, client: str) -> AsyncIterator[None]:
        if self._waiting[client] >= _WAITING_EACH:
            raise OverLimit(
                "too many calls of this client wait already", code=BUSY, next="wait for their answers, then try again"
            )
        self._waiting[client] += 1
        try:
            await self.turns.take(client)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
        try:
            yield
        finally:
            self.turns.give()


def may_change(definition: Definition | None, request: Request | None) -> bool:
    """Whether a call counts as a change. Going on with what was approved does; looking at how it stands does not, nor does
    a call that makes no sense.
    """
    if definition is None or request is None:
        return False
    operation = primitive(definition)
    if operation.steers:
        return operation.uri is None
    added = {effect for name, effect in additions(type(request)).items() if getattr(request, name)}
    return not base_effects(definition) | added <= READING


def _too_long(seconds: int, *, may_have_acted: bool) -> MailError:
    if may_have_acted:
        return Ambiguous(
            f"it was stopped after {seconds} s; a part of it may have been done",
            code=TOO_LONG,
            next="do not repeat it; operations_list says what became of it",
        )
    return Unavailable(
        f"it took longer than {seconds} s and was given up; nothing was changed",
        code=TOO_LONG,
        next="ask for less at once, or try again in a minute",
    )
