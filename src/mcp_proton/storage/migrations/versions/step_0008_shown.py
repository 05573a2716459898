"""What the owner is shown of a waiting operation whose account cannot be looked into again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what waits already has none."""
    op.add_column("payloads", sa.Column("shown", sa.Text))
