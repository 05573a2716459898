"""The store: one SQLite file, opened when first needed, safe for several processes, closed without a trace.

What goes wrong below comes out as `Unavailable`: a full disk, a locked or damaged file, one made by a newer version.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from mcp_proton.domain.errors import Defect, Unavailable
from mcp_proton.storage.opening import BUSY_SECONDS, make_file, prepare
from mcp_proton.storage.tables import REVISIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path
    from typing import Any

    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from mcp_proton.domain.errors import MailError

_AGAIN = 0.02
_NEXT = "nothing was done; see that there is room on the disk and that the state folder can be written"


class Database:
    """A store at `path`. `migrate` brings an older one to the newest form; it is called only when there is need."""

    def __init__(self, path: Path, migrate: Callable[[Path], None]) -> None:
        self._path = path
        self._migrate = migrate
        self._engine: AsyncEngine | None = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection with one consistent view. Never waits for a writer."""
        async with self._transaction("BEGIN") as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Give the only connection that may write now, in any process. Durable when the block has been left."""
        async with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    async def aclose(self) -> None:
        """Close every connection."""
        async with self._opening:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.dispose()

    @asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[AsyncConnection]:
        engine = await self._open()
        try:
            async with _connected(engine) as plain:
                connection = await plain.execution_options(begin=begin)
                async with connection.begin():
                    yield connection
        except DBAPIError as error:
            raise _ours(error) from None
        except OSError as error:
            raise _unavailable(error.strerror or "input/output") from None

    async def _open(self) -> AsyncEngine:
        if self._engine is not None:
            return self._engine
        async with self._opening:
            if self._engine is None:
                self._engine = await self._opened()
        return self._engine

    async def _opened(self) -> AsyncEngine:
        try:
            await asyncio.to_thread(make_file, self._path)
        except OSError as error:
            raise _unavailable(error.strerror or "input/output") from None
        engine = create_async_engine(
            f"sqlite+aiosqlite:///{self._path}", pool_size=2, max_overflow=4, connect_args={"timeout": BUSY_SECONDS}
        )
        event.listen(engine.sync_engine, "connect", _set_up)
        event.listen(engine.sync_engine, "begin", _begin)
        try:
            await self._fit(engine)
        except BaseException:
            await engine.dispose()
            raise
        return engine

    async def _fit(self, engine: AsyncEngine) -> None:
        try:
            revision = await _revision(engine)
            if revision != REVISIONS[-1]:
                if revision is not None and revision not in REVISIONS:
                    raise Unavailable(
                        "the store was made by a newer version of mcp-proton",
                        code="store_too_new",
                        next="update mcp-proton, or move its state folder away",
                    )
                await engine.dispose()
                await asyncio.to_thread(self._migrate, self._path)
        except DBAPIError as error:
            raise _ours(error) from None


@asynccontextmanager
async def _connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Connect, while another process may be making the store, or closing the last connection to it.

    SQLite does not wait for the lock that takes: it says at once that the file is locked. Nothing was done by then.
    """
    until = asyncio.get_running_loop().time() + BUSY_SECONDS
    async with AsyncExitStack() as held:
        while True:
            try:
                connection = await held.enter_async_context(engine.connect())
                break
            except OperationalError as error:
                if not _is_locked(error) or asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(_AGAIN)
        yield connection


def _is_locked(error: DBAPIError) -> bool:
    return isinstance(error, OperationalError) and "locked" in str(error.orig)


async def _revision(engine: AsyncEngine) -> str | None:
    async with _connected(engine) as connection:
        found = await connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
        if found.first() is None:
            return None
        row = (await connection.exec_driver_sql("SELECT version_num FROM alembic_version")).first()
        return None if row is None else str(row[0])


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`, not by the driver
    prepare(connection.cursor())


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def _ours(error: DBAPIError) -> MailError:
    if isinstance(error, IntegrityError):
        return Defect("the store refused what it was told")
    if _is_locked(error):
        return Unavailable("the store is busy", code="storage_busy", next="try again in a few seconds")
    return _unavailable(str(error.orig))


def _unavailable(what: str) -> Unavailable:
    return Unavailable(f"the store cannot be used ({what})", code="storage_unavailable", next=_NEXT)
