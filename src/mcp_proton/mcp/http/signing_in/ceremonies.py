"""Ceremonies: passkeys made and used, as WebAuthn Level 2 has it (§7.1, §7.2). A person is verified each time."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.signing_in import Passkey
    from mcp_proton.mcp.http.signing_in.site import Site

_USER = PublicKeyCredentialUserEntity(id=b"mcp-proton owner", name="owner", display_name="The owner of this mail")
_ALGORITHMS = (-8, -7, -257)
"""EdDSA, ES256, RS256 (RFC 9053 §2, RFC 8812 §2)."""
logging.getLogger("fido2").setLevel(logging.WARNING)  # else it logs credential ids


@dataclass(frozen=True)
class Made:
    """A new passkey."""

    credential: bytes
    key: bytes


@dataclass(frozen=True)
class Used:
    """A passkey that proved itself, and how often it says it was used."""

    credential: bytes
    count: int


class Ceremonies:
    """Makes options for a browser, and checks what comes back against them."""

    def __init__(self, site: Site) -> None:
        entity = PublicKeyCredentialRpEntity(id=site.host, name="mcp-proton")
        self._server = Fido2Server(entity, verify_origin=lambda origin: origin == site.issuer)
        kept = [one for one in self._server.allowed_algorithms if one.alg in _ALGORITHMS]
        self._server.allowed_algorithms = kept

    def begin_making(self, known: Sequence[Passkey]) -> tuple[Any, Any]:
        """Return the options, and the state to finish with."""
        options, state = self._server.register_begin(
            _USER,
            [AttestedCredentialData(one.key) for one in known],
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return dict(options.public_key), state

    def make(self, state: Any, response: object) -> Made | None:
        """Return the passkey that was made; None where what came back proves nothing."""
        try:
            found = self._server.register_complete(state, response).credential_data  # type: ignore[arg-type]
            assert found is not None
            if found.public_key.ALGORITHM not in _ALGORITHMS:
                return None
            return Made(found.credential_id, bytes(found))
        except Exception:  # whatever a stranger's octets lead the parsers to: it proves nothing
            return None

    def begin_using(self) -> tuple[Any, Any]:
        """Return the options, and the state to finish with. They name no passkey: who asks learns of none."""
        options, state = self._server.authenticate_begin(user_verification=UserVerificationRequirement.REQUIRED)
        return dict(options.public_key), state

    def use(self, state: Any, known: Sequence[Passkey], response: object) -> Used | None:
        """Return the passkey that was used; None where what came back proves nothing."""
        try:
            shown = AuthenticationResponse.from_dict(response)  # type: ignore[call-overload]
            credentials = [AttestedCredentialData(one.key) for one in known]
            found = self._server.authenticate_complete(state, credentials, shown)
            return Used(found.credential_id, shown.response.authenticator_data.counter)
        except Exception:  # as above
            return None
