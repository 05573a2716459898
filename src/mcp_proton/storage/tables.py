"""The tables of the store, as the newest migration leaves them. Times are microseconds since 1970 in UTC.

`records` hold who asked for what and what became of it, never content. `payloads` hold the stored request of what
waits or runs. `uses` hold what counts against the owner's limits.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

REVISIONS: Final = ("0001",)
"""Every migration this version knows, the newest last. A store at any other one was made by a newer version."""

metadata = MetaData()

records = Table(
    "records",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("caller", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("accounts", Text, nullable=False),
    Column("effects", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("ended", BigInteger),
    Column("summary", Text, nullable=False),
    Column("code", Text),
    Index("records_by_caller", "caller", "seq"),
    Index("records_by_age", "created"),
    Index("records_by_status", "status", "seq"),
)

payloads = Table(
    "payloads",
    metadata,
    Column("record", Text, ForeignKey("records.id", ondelete="CASCADE"), primary_key=True),
    Column("body", Text, nullable=False),
    Column("purge", BigInteger),
    Index("payloads_to_purge", "purge", sqlite_where=text("purge IS NOT NULL")),
)

fates = Table(
    "fates",
    metadata,
    Column("record", Text, ForeignKey("records.id", ondelete="CASCADE"), nullable=False),
    Column("handle", Text, nullable=False),
    Column("ending", Text, nullable=False),
    Column("code", Text),
    Column("why", Text),
    Column("now", Text),
    PrimaryKeyConstraint("record", "handle"),
)

uses = Table(
    "uses",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("record", Text, ForeignKey("records.id", ondelete="CASCADE"), nullable=False),
    Column("effect", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("client", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("units", Integer, nullable=False),
    Index("uses_by_effect", "effect", "created", "client", "account", "units"),
    Index("uses_by_record", "record"),
)

switches = Table(
    "switches",
    metadata,
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "name"),
)

grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("effects", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("client", Text),
    Column("account", Text),
    Column("place", Text),
    Column("created", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)
