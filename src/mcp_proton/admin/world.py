"""Opening the world for one command, and the flag that opens the demonstration instead."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mcp_proton import bootstrap
from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.config.tables import Account
    from mcp_proton.services.door.service import MailService

Demo = Annotated[
    bool,
    Parameter(
        name="--demo", negative="", help="use the demonstration mailbox; no configuration needed", show_default=False
    ),
]


@asynccontextmanager
async def opened(*, demo: bool = False) -> AsyncIterator[MailService]:
    """Open the owner's world, or the demonstration. Without an account there is no world to open: `NotFound` says so."""
    if demo:
        async with bootstrap.demonstration() as shown:
            yield shown.service
        return
    if not bootstrap.settings(os.environ).config.accounts:
        raise NotFound("no account is connected yet", next="run `mcp-proton setup`, or try --demo")
    async with bootstrap.real(os.environ) as running:
        yield running.service


def known_account(settings: bootstrap.Settings, name: str) -> Account:
    """Return an account of config.toml. Raises `NotFound` that names the nearest."""
    accounts = settings.config.accounts
    if name not in accounts:
        near = nearest(name, accounts)
        raise NotFound(f"there is no account `{name}`{near}", next="`mcp-proton accounts list` names them")
    return accounts[name]
