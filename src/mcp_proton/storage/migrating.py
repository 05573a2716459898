"""Bringing a store to the newest form. Apart from `database`, so that Alembic is loaded only where there is work."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from mcp_proton.storage.opening import BUSY_SECONDS, prepare

_SCRIPTS = Path(__file__).with_name("migrations")


def migrate(path: Path) -> None:
    """Take every missing step, as one transaction, under the store's write lock: safe when several processes start.

    Whoever comes second waits, finds nothing to do and goes on; a process killed in the middle leaves the old form.
    """
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": BUSY_SECONDS})
    try:
        with engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            if raw is not None:
                raw.isolation_level = None  # transactions are begun by us, not by the driver
            prepare(connection.connection.cursor())
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
            command.upgrade(config, "head")
            connection.exec_driver_sql("COMMIT")
    finally:
        engine.dispose()
