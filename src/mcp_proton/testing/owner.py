"""What an owner sets up, without a disk: accounts, secrets and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.ports import MailBackend
from mcp_proton.policy.model import Policy


class MemoryVault:
    """Secrets in a dictionary."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = dict(secrets)

    async def secret(self, account: str) -> str:
        """Return the account's secret, or raise KeyError."""
        return self._secrets[account]

    async def keep(self, account: str, secret: str) -> None:
        """Put another there."""
        self._secrets[account] = secret


class FixedPolicy:
    """A policy that stands until a test puts another in its place."""

    problem: str | None = None

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    async def current(self) -> Policy:
        """What was put here."""
        return self.policy


class Named(MailBackend, Protocol):
    """A backend that says which account it is."""

    @property
    def name(self) -> str:
        """The owner's name for it."""
        ...


class MemoryAccounts:
    """Accounts that are there from the start; the first is the default."""

    def __init__(self, *backends: Named) -> None:
        self._backends = {backend.name: backend for backend in backends}

    @property
    def names(self) -> Sequence[str]:
        """All of them."""
        return list(self._backends)

    @property
    def default(self) -> str | None:
        """The first."""
        return next(iter(self._backends), None)

    def backend(self, name: str) -> MailBackend:
        """Return one."""
        if name not in self._backends:
            raise NotFound("there is no such account")
        return self._backends[name]
