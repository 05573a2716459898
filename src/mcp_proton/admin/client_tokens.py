"""Client tokens, as the owner makes and ends them: shown once, kept hashed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from mcp_proton import bootstrap
from mcp_proton.config.serving import place

from .programs import Process, Program, Remote, connected, snippet

if TYPE_CHECKING:
    from mcp_proton.config.tables import Service
    from mcp_proton.domain.tokens import ClientToken

    from .printing import Printer

Days = Annotated[
    int | None,
    Parameter(
        help="end the token by itself after so many days; else it holds until you end it", validator=Number(gte=1)
    ),
]
PLACEHOLDER = "the-token-that-was-shown"


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


def way(service: Service, token: str = PLACEHOLDER, *, through: bool = False) -> Process | Remote:
    """Return how a program reaches the service; `through`, or where it listens on a Unix socket: by the connector."""
    listen = place(service.listen)
    if listen.path is not None and service.public_url is None:
        return connected(str(listen), token)
    url = f"{service.public_url or f'http://{listen}'}/mcp"
    return connected(url, token) if through else Remote(url, token)


def show(printer: Printer, client: str, program: Program, token: str, reach: Process | Remote) -> None:
    """Print a new token, for the only time, and what to put into the program's configuration."""
    text = snippet(program, reach)
    if printer.as_json:
        told = {"status": "ok", "client": client, "token": token, "program": program.value, "configuration": text}
        printer.json(told)
        return
    printer.remark("the client's token, shown only now; an earlier one is over:")
    printer.line(token)
    printer.remark(f"for {program.value}, {program.place}:")
    for line in text.splitlines():
        printer.line(line)
