"""`mcp-proton approvals`: what waits for the owner, what it would do, and the owner's answer (P-40)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from mcp_proton.domain.caller import owner
from mcp_proton.services.answers import answer
from mcp_proton.services.operations.journal import OperationsList
from mcp_proton.services.operations.owner import ApprovalsApprove, ApprovalsDeny, ApprovalsShow

from . import passphrase
from .asking import confirm, interactive
from .exits import Exit
from .printing import AsJson, Printer
from .world import opened

if TYPE_CHECKING:
    from mcp_proton.domain.operation import Request

app = App(name="approvals", help="See what waits for you, and answer.")
PassphraseFile = Annotated[
    Path | None,
    Parameter(help="file with your owner passphrase, for answering without a terminal ('-': standard input)"),
]


@app.command(name="list")
async def list_waiting(*, json: AsJson = False) -> Exit:
    """List what waits for your answer."""
    return await _submit(OperationsList(waiting=True), Printer(as_json=json))


@app.command
async def show(operation_id: str, /, *, json: AsJson = False) -> Exit:
    """Show each thing that would happen and each risk, on a line of its own."""
    return await _submit(ApprovalsShow(operation_id=operation_id), Printer(as_json=json))


@app.command
async def approve(operation_id: str, /, *, passphrase_file: PassphraseFile = None, json: AsJson = False) -> Exit:
    """Let a waiting operation happen, once, as shown. Needs a terminal, or your owner passphrase."""
    printer = Printer(as_json=json)
    if passphrase_file is not None:
        if not passphrase.matches(passphrase_file):
            printer.remark("that is not the owner passphrase (`mcp-proton passphrase` sets it)")
            return Exit.REFUSED
    elif not interactive():
        printer.remark("approving needs a terminal or --passphrase-file; nothing was approved")
        return Exit.REFUSED
    else:
        shown = await _submit(ApprovalsShow(operation_id=operation_id), Printer())
        if shown is not Exit.DONE or not confirm("let this happen?", flag="--passphrase-file"):
            printer.remark("nothing was approved")
            return Exit.REFUSED
    return await _submit(ApprovalsApprove(operation_id=operation_id), printer, waiting_is_fine=True)


@app.command
async def deny(operation_id: str, /, *, json: AsJson = False) -> Exit:
    """Refuse a waiting operation."""
    return await _submit(ApprovalsDeny(operation_id=operation_id), Printer(as_json=json), refused_is_fine=True)


async def _submit(
    request: Request, printer: Printer, *, waiting_is_fine: bool = False, refused_is_fine: bool = False
) -> Exit:
    async with opened() as service:
        told = answer(await service.submit(owner(), request))
    code = printer.answer(told)
    answered = (waiting_is_fine and told.get("state") == "approved") or (
        refused_is_fine and told.get("state") == "denied"
    )
    return Exit.DONE if answered else code
