"""`mcp-proton receipts`: what left, when and to whom, and whether a message at hand is that one. No server is asked (N-6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from mcp_proton.admin.exits import Exit
from mcp_proton.admin.filling import filled
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.world import opened
from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import NotFound
from mcp_proton.mime.receipts import digests
from mcp_proton.services.operations.receipts import ReceiptsShow
from mcp_proton.services.presenting.answers import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

app = App(
    name="receipts",
    help_epilogue="""Examples:
  mcp-proton receipts show op_…
  mcp-proton receipts check op_… --message sent.eml
  mcp-proton receipts check op_… --receipt 4f1c…

A message is the one that left if its octets are. Proton Mail Bridge writes
every message anew: what its mailboxes show is never equal to the octet.""",
)
OperationId = Annotated[str, Parameter(help="the operation that sent: op_…")]
Message = Annotated[Path | None, Parameter(help="a message in a file (.eml)")]
Given = Annotated[str | None, Parameter(help="the receipt that the answer to the agent named")]
_LARGEST = 200 << 20


@app.command
async def show(operation_id: OperationId, /, *, json: AsJson = False) -> Exit:
    """Show what is remembered of a mail that was sent: envelope, time, digests, what became of it."""
    return Printer(as_json=json).answer(await _receipt(operation_id))


@app.command
async def check(
    operation_id: OperationId, /, *, message: Message = None, receipt: Given = None, json: AsJson = False
) -> Exit:
    """Check a message or a receipt against what is remembered of the mail that was sent."""
    printer = Printer(as_json=json)
    told = await _receipt(operation_id)
    if told["status"] != "ok":
        return printer.answer(told)
    failed = [] if told.get("consistent") else ["what is remembered does not fit itself: the store was changed"]
    if receipt is not None and receipt.strip().lower() != told["receipt"]:
        failed.append("this is not the receipt of that mail")
    if message is not None and told["wire"] not in digests(_octets(message)):
        failed.append("this is not the message that left, to the octet")
    return printer.answer(_verdict(told, failed))


def _verdict(told: dict[str, Any], failed: Sequence[str]) -> dict[str, Any]:
    if failed:
        return {"status": "conflict", "code": "receipt_differs", "why": "; ".join(failed)}
    kept = ("operation_id", "sender", "recipients", "at", "wire", "receipt")
    return {"status": "ok", **{name: told[name] for name in kept}}


def _octets(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        raise NotFound(f"the message cannot be read ({error.strerror})", code="no_such_file") from None


async def _receipt(operation_id: str) -> dict[str, Any]:
    async with opened() as service:
        return answer(await service.submit(owner(), filled(ReceiptsShow, operation_id=operation_id)))
