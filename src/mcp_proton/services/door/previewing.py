"""Previewing: what a request would do and whether the rules let it, without doing it (P-62, P-91)."""

from __future__ import annotations

from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.plan import Plan
from mcp_proton.policy.model import Decision
from mcp_proton.services.door.call import Call
from mcp_proton.services.fields import Mark, Stranger, marked


class Previewed(Result):
    """What would happen.

    `occurrences` are messages in places, `messages` how many different ones they are at least; `verdict` is allow, ask or
    deny.
    """

    preview: bool = False
    summary: str
    occurrences: int | None = None
    messages: int | None = None
    verdict: str
    why: str | None = None
    would: list[Stranger] = []
    undo: str = ""


def wanted(request: Request) -> bool:
    """Whether only a preview is asked for."""
    return any(mark is Mark.PREVIEW and value for mark, _, value in marked(request))


def preview(operation: Operation, planned: Plan, decision: Decision, summary: str, call: Call) -> Previewed:
    """Tell a plan."""
    return Previewed(
        preview=True,
        summary=summary,
        occurrences=len(planned.targets) or None,
        messages=call.found.messages if call.found else None,
        verdict=decision.verdict.word,
        why=decision.why if decision.breaches or planned.doubts else None,
        would=[f"{line.label}: {line.value}" for line in planned.review[:20]],
        undo="operations_undo takes it back" if operation.undo else "it cannot be taken back",
    )
