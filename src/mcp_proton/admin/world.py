"""Opening the world for one command, and the flag that opens the demonstration instead."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mcp_proton import bootstrap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.services.service import MailService

Demo = Annotated[
    bool, Parameter(name="--demo", negative="", help="use the demonstration mailbox; no configuration needed")
]


@asynccontextmanager
async def opened(*, demo: bool = False) -> AsyncIterator[MailService]:
    """Open the owner's world, or the demonstration."""
    if demo:
        async with bootstrap.demonstration() as shown:
            yield shown.service
        return
    async with bootstrap.real(os.environ) as running:
        yield running.service
