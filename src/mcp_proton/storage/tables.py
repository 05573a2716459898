"""The tables of the store, as the newest migration leaves them. Times are microseconds since 1970 in UTC.

`records` hold who asked for what and what became of it, never content. `payloads` hold the stored request of what waits or
runs. `sendings` hold what is remembered of a mail that was about to leave: envelope and digests. `draft_notes` hold what a
server does not keep of a draft. `uses` hold what counts against the owner's limits. `runners` are the processes that change
mail, `leases` the accounts they write in, `channels` the clients through which the owner may answer, `tokens` what clients
show to be let in over HTTP, hashed. `passkeys` are the owner's, `invitations` codes to add one; `sign_ins` are what programs
were given with one, `refresh_tokens` how they renew it. Codes and tokens are hashed.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
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
    Column("total", Integer, nullable=False, server_default=text("0")),
    Column("begun", Integer, nullable=False, server_default=text("0")),
    Column("background", Integer, nullable=False, server_default=text("0")),
    Column("stopping", Integer, nullable=False, server_default=text("0")),
    Column("outline", Text),
    Column("runner", Text),
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
    Column("shown", Text),
    Index("payloads_to_purge", "purge", sqlite_where=text("purge IS NOT NULL")),
)

OPEN_END: Final = "(ending = 'uncertain' OR proof = 'copyuid')"
"""What must still be looked at; spelt alike in the index and in what asks for it, so that the index serves."""

fates = Table(
    "fates",
    metadata,
    Column("record", Text, ForeignKey("records.id", ondelete="CASCADE"), nullable=False),
    Column("handle", Text, nullable=False),
    Column("ending", Text, nullable=False),
    Column("code", Text),
    Column("why", Text),
    Column("now", Text),
    Column("proof", Text),
    Column("identity", Text),
    PrimaryKeyConstraint("record", "handle"),
    Index("fates_open", "record", sqlite_where=text(OPEN_END)),
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

sendings = Table(
    "sendings",
    metadata,
    Column("record", Text, ForeignKey("records.id", ondelete="CASCADE"), primary_key=True),
    Column("account", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("recipients", Text, nullable=False),
    Column("wire", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("receipt", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("key", Text),
    Column("begun", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("stage", Text, nullable=False),
    Column("code", Text),
    Column("answers", Text, nullable=False),
    Column("sent", Text),
    Column("draft", Text),
    Column("stray", Integer, nullable=False),
    Column("looked", BigInteger),
    Column("bounces", Text, nullable=False),
    Index("sendings_by_account", "account", "begun"),
)

draft_notes = Table(
    "draft_notes",
    metadata,
    Column("account", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    PrimaryKeyConstraint("account", "message_id"),
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

runners = Table(
    "runners",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("beat", BigInteger, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("account", Text, primary_key=True),
    Column("runner", Text),
    Column("fence", Integer, nullable=False),
)

channels = Table(
    "channels",
    metadata,
    Column("client", Text, primary_key=True),
    Column("challenge", Text),
    Column("armed", BigInteger),
    Column("checked", BigInteger),
)

tokens = Table(
    "tokens",
    metadata,
    Column("client", Text, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
)

passkeys = Table(
    "passkeys",
    metadata,
    Column("credential", LargeBinary, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("used", BigInteger),
    Column("counter", BigInteger, nullable=False),
)

invitations = Table(
    "invitations",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("until", BigInteger, nullable=False),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("id", Text, primary_key=True),
    Column("client", Text, nullable=False),
    Column("program", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),
    Column("renewed", BigInteger, nullable=False),
)

refresh_tokens = Table(
    "refresh_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("sign_in", Text, ForeignKey("sign_ins.id", ondelete="CASCADE"), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("used", BigInteger),
    Index("refresh_tokens_by_sign_in", "sign_in", "generation"),
)

links = Table(
    "links",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("client", Text, nullable=False),
    Column("way", Text, nullable=False),
    Column("artifact", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("most", BigInteger, nullable=False),
    Column("account", Text),
    Column("expires", BigInteger, nullable=False),
    Column("used", BigInteger),
)
