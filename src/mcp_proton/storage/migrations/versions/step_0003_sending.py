"""Sending mail: what is remembered of every mail that was about to leave. No content."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; what is there stays."""
    op.create_table(
        "sendings",
        sa.Column("record", sa.Text, sa.ForeignKey("records.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("sender", sa.Text, nullable=False),
        sa.Column("recipients", sa.Text, nullable=False),
        sa.Column("wire", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("receipt", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("begun", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
        sa.Column("answers", sa.Text, nullable=False),
        sa.Column("sent", sa.Text),
        sa.Column("draft", sa.Text),
        sa.Column("stray", sa.Integer, nullable=False),
        sa.Column("looked", sa.BigInteger),
        sa.Column("bounces", sa.Text, nullable=False),
    )
    op.create_index("sendings_by_account", "sendings", ["account", "begun"])
