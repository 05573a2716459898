"""The first store: journal, payloads, fates, uses, switches and grants."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "records",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("accounts", sa.Text, nullable=False),
        sa.Column("effects", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger),
        sa.Column("ended", sa.BigInteger),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
    )
    op.create_index("records_by_caller", "records", ["caller", "seq"])
    op.create_index("records_by_age", "records", ["created"])
    op.create_index("records_by_status", "records", ["status", "seq"])
    op.create_table(
        "payloads",
        sa.Column("record", sa.Text, sa.ForeignKey("records.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("purge", sa.BigInteger),
    )
    op.create_index("payloads_to_purge", "payloads", ["purge"], sqlite_where=sa.text("purge IS NOT NULL"))
    op.create_table(
        "fates",
        sa.Column("record", sa.Text, sa.ForeignKey("records.id", ondelete="CASCADE"), nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("ending", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
        sa.Column("why", sa.Text),
        sa.Column("now", sa.Text),
        sa.PrimaryKeyConstraint("record", "handle"),
    )
    op.create_table(
        "uses",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("record", sa.Text, sa.ForeignKey("records.id", ondelete="CASCADE"), nullable=False),
        sa.Column("effect", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("units", sa.Integer, nullable=False),
    )
    op.create_index("uses_by_effect", "uses", ["effect", "created", "client", "account", "units"])
    op.create_index("uses_by_record", "uses", ["record"])
    op.create_table(
        "switches",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("kind", "name"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("effects", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("client", sa.Text),
        sa.Column("account", sa.Text),
        sa.Column("place", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
