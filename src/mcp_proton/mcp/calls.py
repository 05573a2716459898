"""Calls: one request from the transport through the door, whatever happens on the way."""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from fastmcp.server.dependencies import get_context

from mcp_proton.domain.errors import Defect, MailError
from mcp_proton.mcp.reviewing import through
from mcp_proton.services.presenting.telling import told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastmcp.tools.base import ToolResult

    from mcp_proton.domain.caller import Caller, Surface
    from mcp_proton.domain.operation import Request, Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.mcp.doorway import Doorway
    from mcp_proton.services.door.registry import Definition
    from mcp_proton.services.door.service import MailService

_log = logging.getLogger(__name__)
Value = TypeVar("Value")


async def submit(doorway: Doorway, surface: Surface, request: Request) -> Outcome[Result]:
    """Put a request to the door. Only cancellation gets out of here; the door shields what must not be cut short."""
    try:
        service = await guarded(doorway.service)
        return await _through_the_gate(doorway, service, doorway.caller(surface), request)
    except MailError as error:
        return told(error)


async def reviewed(doorway: Doorway, surface: Surface, request: Request) -> Outcome[Result] | ToolResult:
    """The same, and where it waits for the owner, ask. A tool result means that the client will call again."""
    try:
        service = await guarded(doorway.service)
        caller = doorway.caller(surface)
        return await guarded(
            lambda: through(service, caller, lambda: _through_the_gate(doorway, service, caller, request))
        )
    except MailError as error:
        return told(error)


async def turned_down(doorway: Doorway, surface: Surface, definition: Definition | None, wrong: MailError) -> MailError:
    """Have a call that makes no sense pass the gate like any other; return what it is told, which may be the gate's no."""

    async def submit() -> Outcome[Result]:
        raise wrong

    try:
        await doorway.gate(doorway.caller(surface), definition, None, submit)
    except MailError as error:
        return error
    return wrong


async def _through_the_gate(
    doorway: Doorway, service: MailService, caller: Caller, request: Request
) -> Outcome[Result]:
    definition = service.world.catalog.by_request[type(request)]
    return await doorway.gate(caller, definition, request, lambda: service.submit(caller, request, progress))


async def guarded(work: Callable[[], Awaitable[Value]]) -> Value:
    """Do something of ours; a fault in it becomes a `Defect`, and the log gets its kind and place but no word of it."""
    try:
        return await work()
    except MailError:
        raise
    except Exception as error:
        frames = "".join(traceback.format_tb(error.__traceback__))
        _log.error("fault: %s\n%s", type(error).__name__, frames)
        raise Defect("a fault of ours stopped this", next="ask the owner to run `mcp-proton doctor`") from None


async def progress(done: int, total: int | None, what: str) -> None:
    """Tell a client that asked for it (it sent a token) how far its call has got. Nobody else hears of it."""
    context = get_context()
    with suppress(Exception):  # a client that is gone must not stop what is being done
        await context.report_progress(done, total, what)
