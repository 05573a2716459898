"""Watching: what is noted of each call, for the audit log and the metrics: who, what, how it ended. Never what is in it."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError
from mcp_proton.mcp.http.bearers import present
from mcp_proton.mcp.http.rates import Rate
from mcp_proton.mcp.logs import AUDIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.operation import Request, Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.mcp.doorway import Gate, Submit
    from mcp_proton.services.door.registry import Definition

NO_OPERATION = "none"
"""The operation of a call that names none: what it did name is not repeated."""
_audit = logging.getLogger(AUDIT)


@dataclass(frozen=True, slots=True)
class Seen:
    """One call. `count` is how many items it answered with, `token` the beginning of its token's hash (J-130)."""

    client: str
    operation: str
    status: str
    code: str | None
    seconds: float
    count: int | None = None
    operation_id: str | None = None
    token: str | None = None


class Watched:
    """A gate that tells `observers` of each call that passes it, or does not."""

    def __init__(self, gate: Gate, observers: Sequence[Callable[[Seen], None]]) -> None:
        self._gate = gate
        self._observers = observers

    async def __call__(
        self, caller: Caller, definition: Definition | None, request: Request | None, submit: Submit
    ) -> Outcome[Result]:
        """Let it pass, and tell how it ended."""
        began = time.perf_counter()
        try:
            outcome = await self._gate(caller, definition, request, submit)
        except MailError as error:
            self._tell(caller, definition, began, error.status, error.code)
            raise
        except asyncio.CancelledError:
            self._tell(caller, definition, began, "cancelled", "canceled")
            raise
        self._tell(caller, definition, began, outcome.status, outcome.code, outcome)
        return outcome

    def _tell(
        self,
        caller: Caller,
        definition: Definition | None,
        began: float,
        status: str,
        code: str | None,
        outcome: Outcome[Result] | None = None,
    ) -> None:
        bearer = present()
        seen = Seen(
            client=caller.name,
            operation=definition.name if definition else NO_OPERATION,
            status=status,
            code=code,
            seconds=time.perf_counter() - began,
            count=_count(outcome.result) if outcome and outcome.result is not None else None,
            operation_id=outcome.operation_id if outcome else None,
            token=bearer.hash if bearer else None,
        )
        for observer in self._observers:
            observer(seen)


class Notices:
    """Notes what is no call (a stranger, a session too many): in the log at most once a second of each, to observers always."""

    def __init__(self, *observers: Callable[[str], None]) -> None:
        self._observers = observers
        self._rate = Rate(60, 60.0)

    def __call__(self, event: str) -> None:
        """Note an event by its word."""
        if not self._rate.take(event):
            write(event)
        for observer in self._observers:
            observer(event)


def audit(seen: Seen) -> None:
    """Write the audit line of a call (J-130): words and numbers of ours, nothing that came in or goes out."""
    write(
        "call",
        client=seen.client,
        method=seen.operation,
        resource=seen.operation_id,
        outcome=seen.status,
        latency_ms=round(seen.seconds * 1000, 1),
        result_count=seen.count,
        error_class=seen.code,
        token_hash=seen.token,
    )


def write(event: str, **fields: str | float | None) -> None:
    """Write a line that is written whatever the level of the log."""
    told = {name: value for name, value in fields.items() if value is not None}
    text = " ".join([event, *(f"{name}={value}" for name, value in told.items())])
    _audit.info("%s", text, extra={"fields": {"event": event, **told}})


def _count(result: Result) -> int | None:
    """Return how long the first list in a result is."""
    return next((len(value) for value in vars(result).values() if isinstance(value, list | tuple)), None)
