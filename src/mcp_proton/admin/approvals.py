"""`mcp-proton approvals`: what waits for the owner, what it would do, and the owner's answer (P-40)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from mcp_proton.admin import passphrase, reviewing
from mcp_proton.admin.asking import confirm, interactive
from mcp_proton.admin.exits import Exit, of_status
from mcp_proton.admin.filling import filled
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.world import opened
from mcp_proton.domain.caller import owner
from mcp_proton.services.operations.journal import OperationsList
from mcp_proton.services.operations.owner import ApprovalsApprove, ApprovalsDeny, ApprovalsShow
from mcp_proton.services.presenting.answers import answer

if TYPE_CHECKING:
    from mcp_proton.domain.operation import Request

app = App(
    name="approvals",
    help_epilogue="""Examples:
  mcp-proton approvals list
  mcp-proton approvals show op_…
  mcp-proton approvals approve op_…

Approving needs a terminal or your owner passphrase (`mcp-proton passphrase`).
It holds once, for exactly what was shown; the agent then goes on by itself.""",
)
OperationId = Annotated[str, Parameter(help="as `approvals list` names it: op_…")]
PassphraseFile = Annotated[
    Path | None,
    Parameter(help="its first line is your owner passphrase ('-': standard input)", allow_leading_hyphen=True),
]
_COLUMNS = ("operation_id", "client", "operation", "summary", "state", "expires_at")


@app.command(name="list")
async def list_waiting(*, json: AsJson = False) -> Exit:
    """List what waits for your answer, and what you approved that has not happened yet."""
    printer = Printer(as_json=json)
    told = await _submit(OperationsList(waiting=True))
    if json or told["status"] != "ok":
        return printer.answer(told)
    waiting = told.get("operations", [])
    if not waiting:
        printer.remark("nothing waits for you")
        return Exit.DONE
    printer.table([{name: one.get(name) for name in _COLUMNS} for one in waiting])
    return Exit.DONE


@app.command
async def show(operation_id: OperationId, /, *, json: AsJson = False) -> Exit:
    """Show each thing that would happen and each risk, on a line of its own."""
    printer = Printer(as_json=json)
    told = await _submit(filled(ApprovalsShow, operation_id=operation_id))
    if json or told["status"] != "ok":
        return printer.answer(told)
    for line in reviewing.rows(told):
        printer.line(line)
    return Exit.DONE


@app.command
async def approve(
    operation_id: OperationId, /, *, passphrase_file: PassphraseFile = None, json: AsJson = False
) -> Exit:
    """Let a waiting operation happen, once, as shown. Needs a terminal, or your owner passphrase."""
    printer = Printer(as_json=json)
    if passphrase_file is not None and not passphrase.matches(passphrase_file):
        return printer.answer(_not_approved("wrong_passphrase", "that is not the owner passphrase"))
    if passphrase_file is None and not interactive():
        return printer.answer(_not_approved("needs_terminal", "approving needs a terminal, or --passphrase-file"))
    if passphrase_file is None:
        shown = await _submit(filled(ApprovalsShow, operation_id=operation_id))
        if shown["status"] != "ok":
            return printer.answer(shown)
        if shown["state"] == "pending":
            reviewing.remark(shown, printer)
            if not confirm("Let this happen?", flag="--passphrase-file"):
                return printer.answer(_not_approved("not_approved", "you said no; it still waits"))
    return _standing(await _submit(filled(ApprovalsApprove, operation_id=operation_id)), "approved", printer)


@app.command
async def deny(operation_id: OperationId, /, *, json: AsJson = False) -> Exit:
    """Refuse a waiting operation."""
    return _standing(await _submit(filled(ApprovalsDeny, operation_id=operation_id)), "denied", Printer(as_json=json))


def _standing(told: dict[str, Any], wanted: str, printer: Printer) -> Exit:
    """Tell where it stands now: the owner hears of the owner's answer, not of what the agent is to do."""
    if told.get("state") != wanted:
        return printer.answer(told)
    kept = ("operation_id", "summary", "state", *(("expires_at",) if wanted == "approved" else ()))
    answered = {"status": "ok", **{name: told[name] for name in kept if name in told}}
    if printer.as_json:
        printer.json(answered)
    elif wanted == "approved":
        printer.line(f"approved until {told.get('expires_at')}: the agent can go on with it, once")
    else:
        printer.line("denied: it will not happen")
    return of_status("ok")


def _not_approved(code: str, why: str) -> dict[str, Any]:
    return {"status": "refused", "code": code, "why": f"{why}; nothing was approved"}


async def _submit(request: Request) -> dict[str, Any]:
    async with opened() as service:
        return answer(await service.submit(owner(), request))
