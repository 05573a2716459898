"""Links that are used once, by the digest of their secret."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "links",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("way", sa.Text, nullable=False),
        sa.Column("artifact", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("most", sa.BigInteger, nullable=False),
        sa.Column("account", sa.Text),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger),
    )
