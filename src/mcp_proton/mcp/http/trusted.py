"""Trusted: whose tokens are accepted beside the owner's own, and what the service tells of them (RFC 9728)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.config.signing_in import By
from mcp_proton.domain.scopes import MAIL
from mcp_proton.mcp.http.servers import PATH
from mcp_proton.storage.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.config.oauth import OAuth
    from mcp_proton.config.tables import Config
    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.signing_in.site import Site
    from mcp_proton.mcp.oauth.verifying import Verifier

    Headers = Iterable[tuple[bytes, bytes]]

_ROOT = "/.well-known/oauth-protected-resource"
WELL_KNOWN = (_ROOT, f"{_ROOT}{PATH}")
_SECRET = "oauth"  # noqa: S105 - the name under which the vault knows it


@dataclass(frozen=True)
class Trusted:
    """`verifier` checks a provider's tokens, `tokens` the service's own; `servers` are where a program gets one."""

    site: Site
    servers: tuple[str, ...]
    scopes: tuple[str, ...]
    audience: str | None = None
    verifier: Verifier | None = None
    tokens: AccessTokens | None = None

    def location(self, headers: Headers) -> str:
        """Return the path-aware address of the metadata (J-87), by the name the program used for us."""
        return f"{self.site.origin_as_asked(headers)}{WELL_KNOWN[1]}"

    def metadata(self, headers: Headers) -> dict[str, Any]:
        """Return what a program learns of us as a resource."""
        return {
            "resource": self.audience or f"{self.site.origin_as_asked(headers)}{PATH}",
            "authorization_servers": list(self.servers),
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": list(self.scopes)} if self.scopes else {}),
        }

    def resource(self) -> str:
        """Return what a token must be meant for."""
        return self.audience or f"{self.site.origin}{PATH}"

    @classmethod
    def of(cls, config: Config, site: Site, tokens: AccessTokens | None) -> Trusted | None:
        """Trust whom the configuration names; None where that is nobody."""
        rules, signing = config.oauth, config.sign_in
        if rules is None and signing is None:
            return None
        servers = [site.issuer] if signing is not None else []
        if rules is not None and not (signing is not None and signing.by is By.PROVIDER):
            servers.append(rules.issuer)
        scopes = [*rules.scopes, *(MAIL if rules.mail_scopes else ())] if rules is not None else []
        return cls(
            site,
            tuple(servers),
            tuple(dict.fromkeys([*scopes, *(MAIL if tokens is not None else ())])),
            rules.audience if rules is not None else None,
            _verifier(rules, site) if rules is not None else None,
            tokens,
        )

    async def aclose(self) -> None:
        """Let go of connections."""
        if self.verifier is not None:
            await self.verifier.aclose()


def _verifier(rules: OAuth, site: Site) -> Verifier:
    from mcp_proton.mcp.oauth.verifying import Verifier

    vault = Vault({_SECRET: rules.secret} if rules.secret else {}, os.environ)
    return Verifier(rules, rules.audience or f"{site.origin}{PATH}", lambda: vault.secret(_SECRET))
