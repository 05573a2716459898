"""Client tokens, as the owner makes and ends them: shown once, kept hashed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from mcp_proton import bootstrap
from mcp_proton.admin.programs import Process, Remote, connected
from mcp_proton.config.serving import place
from mcp_proton.storage.files import write_private

if TYPE_CHECKING:
    from mcp_proton.domain.tokens import ClientToken

Days = Annotated[
    int | None,
    Parameter(
        help="end the token by itself after so many days; else it holds until you end it", validator=Number(gte=1)
    ),
]
TokenFile = Annotated[
    Path | None, Parameter(help="the file the program finds its token in; a new one is written there, not shown")
]


async def issued(settings: bootstrap.Settings, client: str, days: int | None) -> str:
    """Make a token in the place of the client's earlier one, and return it."""
    expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
    async with bootstrap.client_tokens(settings) as tokens:
        return await tokens.issue(client, expires)


async def withdrawn(settings: bootstrap.Settings, client: str) -> None:
    """End a client's token, if it has one, and what programs were given that signed in as it."""
    async with bootstrap.client_tokens(settings) as tokens:
        await tokens.withdraw(client)
    async with bootstrap.signing_in(settings) as (_, sign_ins):
        await sign_ins.end(client=client)


async def kept(settings: bootstrap.Settings) -> dict[str, ClientToken]:
    """Return what is kept of every client's token."""
    if not settings.folders.database.exists():
        return {}
    async with bootstrap.client_tokens(settings) as tokens:
        return {one.client: one for one in await tokens.listed()}


def put_down(token: str, file: Path) -> None:
    """Write a token into a file that only the owner may read."""
    write_private(file.expanduser(), f"{token}\n".encode())


def way(
    settings: bootstrap.Settings, client: str, file: Path | None = None, *, through: bool = False
) -> Process | Remote:
    """Return how a program reaches the service; `through`, or where it listens on a Unix socket: by the connector."""
    service = settings.config.service
    listen = place(service.listen)
    found = (file or settings.folders.config / f"{client}.token").expanduser().absolute()
    if listen.path is not None and service.public_url is None:
        return connected(str(listen), found)
    url = f"{service.public_url or f'http://{listen}'}/mcp"
    return connected(url, found) if through else Remote(url, found)
