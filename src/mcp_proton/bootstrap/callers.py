"""Tokens that callers showed: an account with `secret = "caller"` is reached with the token of whoever asks (J-80).

Nothing of it is stored, and nothing is kept but the latest token of each client, in memory. Such an account is one person's:
one client names it, and that client is one subject of the authorization server. What is shown by anybody else opens it never.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.config.tables import Config
    from mcp_proton.domain.ports import SecretProvider

MOST = 256


@dataclass(frozen=True, slots=True)
class Shown:
    """A token that was found good, the subject it speaks of, and the client that this subject is."""

    client: str
    subject: str
    token: str = field(repr=False)


class Callers:
    """The tokens of one service. `config` is what the owner's configuration says now.

    `asking` gives what the request that is being served showed; None outside of one.
    """

    def __init__(self, config: Callable[[], Config]) -> None:
        self._config = config
        self._latest: OrderedDict[str, Shown] = OrderedDict()
        self.asking: Callable[[], Shown | None] = lambda: None

    def __repr__(self) -> str:
        return f"Callers({len(self._latest)})"

    def showed(self, shown: Shown) -> None:
        """Note it as its client's latest. The oldest of too many is forgotten."""
        self._latest[shown.client] = shown
        self._latest.move_to_end(shown.client)
        while len(self._latest) > MOST:
            self._latest.popitem(last=False)

    def token(self, account: str) -> str:
        """Return what the present request showed, else (for what goes on afterwards) what the account's client showed last.

        `AuthFailed` where that is nothing, or nobody's any more: only the account's own client counts.
        """
        config = self._config()
        client = config.client_with(account) or ""
        subjects = config.clients[client].subjects if client else ()
        for shown in (self.asking(), self._latest.get(client)):
            if shown is not None and shown.client == client and shown.subject in subjects:
                return shown.token
        raise AuthFailed(
            "this account is reached with the token of whoever it belongs to, and none was shown",
            code="no_token_shown",
            next="ask over the service, signed in as that person",
        )


class Secrets:
    """The vault, and for the accounts of callers what those showed."""

    def __init__(self, vault: SecretProvider, callers: Callers, of_caller: Callable[[str], bool]) -> None:
        self._vault, self._callers, self._of_caller = vault, callers, of_caller

    async def secret(self, account: str) -> str:
        """Return an account's secret. Raises `AuthFailed`."""
        return self._callers.token(account) if self._of_caller(account) else await self._vault.secret(account)

    async def keep(self, account: str, secret: str) -> None:
        """Store a secret where the owner wants it. Raises `AuthFailed` for what is not stored at all."""
        if self._of_caller(account):
            raise AuthFailed("a caller's token is stored nowhere")
        await self._vault.keep(account, secret)
