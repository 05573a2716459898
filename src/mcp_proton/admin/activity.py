"""`mcp-proton activity`: what was asked, by whom, and what became of it. The journal holds no content to show."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton.admin.exits import Exit
from mcp_proton.admin.filling import filled
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.world import opened
from mcp_proton.domain.caller import owner
from mcp_proton.services.operations.journal import OperationsList
from mcp_proton.services.presenting.answers import answer

_COLUMNS = ("at", "client", "operation", "state", "code", "operation_id")


app = App(
    name="activity",
    help_epilogue="""The journal never holds subjects, addresses or texts. With --json times are UTC.

  mcp-proton activity --limit 50
  mcp-proton activity --json | jq .operations""",
)


@app.default
async def activity(
    *, limit: Annotated[int, Parameter(help="how many, newest first (1 to 50)")] = 20, json: AsJson = False
) -> Exit:
    """See what was done, by whom: the latest records of the journal, reads included."""
    printer = Printer(as_json=json)
    async with opened() as service:
        told = answer(await service.submit(owner(), filled(OperationsList, limit=limit)))
    operations = told.get("operations", [])
    if json or told["status"] != "ok":
        return printer.answer(told)
    if not operations:
        printer.remark("nothing was asked yet")
    printer.table([{name: one.get(name) for name in _COLUMNS} for one in operations])
    return Exit.DONE
