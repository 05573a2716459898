"""Alembic's entry: the steps run on a connection that already holds the store's write lock."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
