"""Changing mail: how far an operation has come and who runs it, proofs, leases, review channels."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns and tables; what is there stays."""
    for name in ("total", "begun", "background", "stopping"):
        op.add_column("records", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
    for name in ("outline", "runner"):
        op.add_column("records", sa.Column(name, sa.Text))
    for name in ("proof", "identity"):
        op.add_column("fates", sa.Column(name, sa.Text))
    op.create_index(
        "fates_open", "fates", ["record"], sqlite_where=sa.text("ending = 'uncertain' OR proof = 'copyuid'")
    )
    op.create_table(
        "runners",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("beat", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("runner", sa.Text),
        sa.Column("fence", sa.Integer, nullable=False),
    )
    op.create_table(
        "channels",
        sa.Column("client", sa.Text, primary_key=True),
        sa.Column("challenge", sa.Text),
        sa.Column("armed", sa.BigInteger),
        sa.Column("checked", sa.BigInteger),
    )
