"""Leases: one writer per account, across tasks and processes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Lease(Protocol):
    """The right to change mail in one account, while it is held."""

    async def check(self) -> None:
        """Raise `Conflict` (`lease_lost`) when another process took this one for dead and writes by now."""
        ...


class Leases(Protocol):
    """Who may write where."""

    def hold(self, account: str) -> AbstractAsyncContextManager[Lease]:
        """Wait until nobody else writes in the account, then be the one. `Unavailable` (`account_busy`) after a minute."""
        ...
