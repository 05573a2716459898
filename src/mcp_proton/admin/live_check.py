"""`mcp-proton clients review`: letting approvals be answered in a client, after a live check that a person sits there (N-5)."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from cyclopts import Parameter

from mcp_proton import bootstrap
from mcp_proton.admin.asking import interactive
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.config import editing
from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.errors import NotFound

_WAIT_SECONDS = 600
_LOOK_SECONDS = 1.0


async def review(
    name: Annotated[str, Parameter(help="the client's label")],
    /,
    *,
    off: Annotated[bool, Parameter(negative="", help="answer nothing there any more", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Answer approvals in a client too, once a live check showed that a person sees its questions. Needs a terminal.

    The terminal shows a number; the client then asks three questions, and only those with that number are to be approved.
    """
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    if name not in settings.config.clients:
        raise NotFound(
            f"there is no client `{name}`{nearest(name, settings.config.clients)}",
            next="`mcp-proton clients list` names them",
        )
    if not off and not interactive():
        return printer.answer({"status": "refused", "code": "needs_terminal", "why": "a live check needs a terminal"})
    editing.add_client(settings.folders.config_file, name, {"review": not off})
    async with bootstrap.switched(settings) as (_, channels):
        if off:
            await channels.forget(name)
            return printer.answer({"status": "ok", "client": name, "review": False})
        challenge = await channels.arm(name)
        printer.remark(
            f"Restart {name} if it runs, then ask it for anything about your mail. It will ask you three questions."
        )
        printer.remark(
            f"Approve those with the number {challenge.number}, decline the others, and take your time to read."
        )
        for _ in range(int(_WAIT_SECONDS / _LOOK_SECONDS)):
            await asyncio.sleep(_LOOK_SECONDS)
            found = await channels.read(name)
            if found.challenge is None:
                break
    if found.checked is None:
        return printer.answer(
            {
                "status": "refused",
                "code": "not_checked",
                "why": "the live check was not passed; nothing is answered there",
            }
        )
    return printer.answer({"status": "ok", "client": name, "review": True})
