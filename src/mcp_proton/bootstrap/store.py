"""The owner's database, opened alone for what needs no mail: switches, live checks, client tokens, sign-ins."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.bootstrap.clock import SystemClock
from mcp_proton.bootstrap.owner import switches_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_proton.bootstrap.owner import Settings
    from mcp_proton.storage.access.channels import SqlChannels
    from mcp_proton.storage.access.passkeys import SqlPasskeys
    from mcp_proton.storage.access.sign_ins import SqlSignIns
    from mcp_proton.storage.access.switches import SqlSwitches
    from mcp_proton.storage.access.tokens import SqlTokens
    from mcp_proton.storage.database import Database


@asynccontextmanager
async def switched(found: Settings) -> AsyncIterator[tuple[SqlSwitches, SqlChannels]]:
    """Open the owner's switches and the clients' live checks, without the rest of the world."""
    from mcp_proton.storage.access.channels import SqlChannels
    from mcp_proton.storage.access.switches import SqlSwitches

    async with _store(found) as database:
        clock = SystemClock()
        yield SqlSwitches(database, switches_file(found), clock), SqlChannels(database, clock)


@asynccontextmanager
async def client_tokens(found: Settings) -> AsyncIterator[SqlTokens]:
    """Open the clients' tokens, without the rest of the world."""
    async with _store(found) as database:
        yield tokens_in(found, database)


@asynccontextmanager
async def signing_in(found: Settings) -> AsyncIterator[tuple[SqlPasskeys, SqlSignIns]]:
    """Open the owner's passkeys and what programs were given with them, without the rest of the world."""
    async with _store(found) as database:
        yield passkeys_in(database), sign_ins_in(found, database)


@asynccontextmanager
async def _store(found: Settings) -> AsyncIterator[Database]:
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.files import private_folder

    private_folder(found.folders.state)
    database = Database(found.folders.database, migrated)
    try:
        yield database
    finally:
        await database.aclose()


def tokens_in(found: Settings, database: Database) -> SqlTokens:
    """Return the clients' tokens in a database that is open."""
    from mcp_proton.storage.access.tokens import SqlTokens

    return SqlTokens(database, found.folders.state / "tokens.changed", SystemClock())


def passkeys_in(database: Database) -> SqlPasskeys:
    """Return the owner's passkeys in a database that is open."""
    from mcp_proton.storage.access.passkeys import SqlPasskeys

    return SqlPasskeys(database, SystemClock())


def sign_ins_in(found: Settings, database: Database) -> SqlSignIns:
    """Return what programs were given, in a database that is open."""
    from mcp_proton.storage.access.sign_ins import SqlSignIns

    return SqlSignIns(database, found.folders.state / "sign_ins.changed", SystemClock())


def migrated(path: Path) -> None:
    """Bring a database file to this version's tables."""
    from mcp_proton.storage.migrating import migrate

    migrate(path)
