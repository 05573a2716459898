"""Trusted: the authorization server the owner named, and what the service tells of it (RFC 9728)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.scopes import MAIL
from mcp_proton.storage.vault import Vault

from .servers import PATH

if TYPE_CHECKING:
    from mcp_proton.config.oauth import OAuth
    from mcp_proton.mcp.oauth.verifying import Verifier

_ROOT = "/.well-known/oauth-protected-resource"
WELL_KNOWN = (_ROOT, f"{_ROOT}{PATH}")
_SECRET = "oauth"  # noqa: S105 - the name under which the vault knows it


@dataclass(frozen=True)
class Trusted:
    """Checks tokens, and says where they come from. `location` is the path-aware address of the metadata (J-87)."""

    verifier: Verifier
    location: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, rules: OAuth, origin: str) -> Trusted:
        """Trust the server that `[oauth]` names, for tokens meant for the service at `origin`."""
        from mcp_proton.mcp.oauth.verifying import Verifier

        audience = rules.audience or f"{origin}{PATH}"
        vault = Vault({_SECRET: rules.secret} if rules.secret else {}, os.environ)
        scopes = list(dict.fromkeys([*rules.scopes, *(MAIL if rules.mail_scopes else ())]))
        metadata: dict[str, Any] = {
            "resource": audience,
            "authorization_servers": [rules.issuer],
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": scopes} if scopes else {}),
        }
        return cls(Verifier(rules, audience, lambda: vault.secret(_SECRET)), f"{origin}{WELL_KNOWN[1]}", metadata)
