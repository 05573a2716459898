"""Passkeys of the owner's, and what programs were given with one."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "passkeys",
        sa.Column("credential", sa.LargeBinary, primary_key=True),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger),
        sa.Column("counter", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "invitations",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("ends", sa.BigInteger, nullable=False),
        sa.Column("renewed", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "refresh_tokens",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("sign_in", sa.Text, sa.ForeignKey("sign_ins.id", ondelete="CASCADE"), nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("used", sa.BigInteger),
    )
    op.create_index("refresh_tokens_by_sign_in", "refresh_tokens", ["sign_in", "generation"])
