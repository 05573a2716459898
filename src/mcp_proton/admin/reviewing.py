"""Showing the owner what waits, from its plan and not from the agent's words, and taking the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_proton.admin.asking import confirm, interactive
from mcp_proton.domain.caller import owner
from mcp_proton.services.operations.owner import ApprovalsApprove, ApprovalsDeny, ApprovalsShow
from mcp_proton.services.presenting.answers import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.admin.printing import Printer
    from mcp_proton.domain.operation import Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.services.door.service import MailService


async def answered(
    service: MailService, outcome: Outcome[Result], printer: Printer, *, yes: bool
) -> Outcome[Result]:  # fmt: skip
    """Ask the owner about the owner's own request, and go on with it; without a terminal it is left waiting."""
    operation = str(outcome.operation_id)
    if not yes:
        if not interactive():
            return outcome
        shown = answer(await service.submit(owner(), ApprovalsShow(operation_id=operation)))
        remark(shown, printer)
        if not confirm("Do it?", flag="--yes"):
            return await service.submit(owner(), ApprovalsDeny(operation_id=operation))
    await service.submit(owner(), ApprovalsApprove(operation_id=operation))
    return await service.resume(owner(), operation)


def rows(shown: Mapping[str, Any]) -> list[str]:
    """Return what would happen, a line for each thing; `!` marks a risk, quotes mark what a stranger wrote."""
    told = [f"{shown.get('client', '')} asks for {shown.get('operation', '')}: {shown.get('summary', '')}"]
    for one in shown.get("lines", []):
        told += _line(one)
    if shown.get("expires_at"):
        told.append(f"  {shown['state']}, until {shown['expires_at']}")
    return told


def _line(one: Mapping[str, Any]) -> list[str]:
    """Return one thing to look at. Every line of a longer text is led in, so that none can pass for a line of ours."""
    mark, value = "!" if one.get("risk") else " ", str(one.get("value", ""))
    if "\n" in value:
        return [f"  {mark} {one['label']}:", *(f"      | {text}" for text in value.split("\n"))]
    shown = f"“{value}”" if one.get("from_stranger") else value
    return [f"  {mark} {one['label']}: {shown}".rstrip(": ")]


def remark(shown: Mapping[str, Any], printer: Printer) -> None:
    """Show it beside the answer, on standard error."""
    for line in rows(shown):
        printer.remark(line)
