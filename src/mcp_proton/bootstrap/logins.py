"""How one logs in to an account: by a password, by an access token that is given, or by one that is renewed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_proton.config.renewal import Renewal
    from mcp_proton.config.tables import Account
    from mcp_proton.domain.ports import SecretProvider
    from mcp_proton.imap.login.access_tokens import AccessTokens, Issued
    from mcp_proton.imap.login.endpoint import Credentials
    from mcp_proton.jmap.protocol.endpoint import Credentials as JmapCredentials


def places(accounts: Mapping[str, Account]) -> dict[str, str]:
    """Where every secret of the accounts is, by the name the vault knows it by."""
    found = {name: one.secret for name, one in accounts.items()}
    for name, one in accounts.items():
        if one.oauth is not None and one.oauth.client_secret is not None:
            found[client_of(name)] = one.oauth.client_secret
    return found


def client_of(account: str) -> str:
    """The vault's name for the secret of the client that renews an account's tokens. No account can be called so."""
    return f"{account}.oauth"


def credentials(name: str, account: Account, vault: SecretProvider) -> Credentials:
    """Who logs in, and with what."""
    from mcp_proton.imap.login.endpoint import Credentials

    return Credentials(account.username, lambda: vault.secret(name), _tokens(name, account, vault))


def of_jmap(name: str, account: Account, vault: SecretProvider) -> JmapCredentials:
    """The same on JMAP, where it may be the token of whoever asks."""
    from mcp_proton.jmap.protocol.endpoint import Auth, Credentials

    auth = Auth.BEARER if account.by_token else Auth.BASIC
    tokens = None if account.of_caller else _tokens(name, account, vault)
    return Credentials(account.username, lambda: vault.secret(name), auth, not account.of_caller, tokens)


def _tokens(name: str, account: Account, vault: SecretProvider) -> AccessTokens | None:
    if not account.by_token:
        return None
    from mcp_proton.imap.login import access_tokens

    async def given() -> Issued:
        return access_tokens.printed(await vault.secret(name), time.time())

    return access_tokens.AccessTokens(given if account.oauth is None else _renewed(name, account, account.oauth, vault))


def _renewed(name: str, account: Account, renewal: Renewal, vault: SecretProvider) -> Callable[[], Awaitable[Issued]]:
    from mcp_proton.imap.login.oauth import Client, Renewing

    client = Client(
        account.token_url or "",
        renewal.client_id,
        None if renewal.client_secret is None else lambda: vault.secret(client_of(name)),
        renewal.scope or (account.known.scope if account.known else None),
        in_header=renewal.client_auth == "header",
    )
    return Renewing(client, lambda: vault.secret(name), lambda another: vault.keep(name, another))
