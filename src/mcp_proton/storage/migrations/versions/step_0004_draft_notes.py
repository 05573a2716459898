"""Drafts: what a server does not keep of them, until they are sent. Content of the owner's own."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; what is there stays."""
    op.create_table(
        "draft_notes",
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account", "message_id"),
    )
