"""What the storage tests speak with."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.plan import Impact, Plan, Scope
from mcp_proton.domain.ports import Opening

START = datetime(2026, 12, 1, 10, tzinfo=UTC)


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()

    def wind(self, **by: float) -> None:
        self.at += timedelta(**by)


def agent(name: str = "hermes") -> Caller:
    return Caller(name, Audience.AGENT, Surface.TOOL)


def handle(number: int, account: str = "personal") -> Handle:
    return Handle(account, "abcdef", f"k{number}")


def opening(effect: Effect = Effect.ORGANIZE, targets: int = 1, **changes: object) -> Opening:
    plan = Plan(
        frozenset({Impact(effect, Scope("personal", "INBOX"))}),
        targets=tuple(handle(number) for number in range(targets)),
    )
    made = Opening(
        caller=agent(),
        operation="messages_move",
        plan=plan,
        digest="d" * 64,
        body='{"messages": ["a secret request"]}',
        summary="messages move: 1 message",
        status=Status.EXECUTING,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the tests' own shorthand
