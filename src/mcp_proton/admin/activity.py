"""`mcp-proton activity`: what was asked, by whom, and what became of it. The journal holds no content to show."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from mcp_proton.domain.caller import owner
from mcp_proton.services.answers import answer
from mcp_proton.services.operations.journal import OperationsList

from .exits import Exit  # noqa: TC001  # cyclopts reads annotations
from .printing import AsJson, Printer
from .world import opened


async def activity(
    *, limit: Annotated[int, Parameter(help="how many, newest first (1-50)")] = 20, json: AsJson = False
) -> Exit:
    """See what was done, by whom: the latest records of the journal, reads included."""
    async with opened() as service:
        return Printer(as_json=json).answer(answer(await service.submit(owner(), OperationsList(limit=limit))))
