"""An authenticator in software: passkeys made and used as WebAuthn has it, with faults on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import struct
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    """One device. What it says can be changed: `count`, `flags` and `origin` are its own word."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.flags = PRESENT | VERIFIED
        self.count = 0
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential = secrets.token_bytes(32)

    def make(self, options: dict[str, Any]) -> dict[str, Any]:
        """Make a passkey (§7.1)."""
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + struct.pack(">H", len(self.credential)) + self.credential + cbor.encode(cose)
        data = self._data(options["rp"]["id"], ATTESTED) + attested
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        told = self._told("webauthn.create", options["challenge"])
        return self._shown({"clientDataJSON": told, "attestationObject": attestation})

    def use(self, options: dict[str, Any], kind: str = "webauthn.get") -> dict[str, Any]:
        """Use it (§7.2)."""
        data, told = self._data(options["rpId"], 0), self._told(kind, options["challenge"])
        signature = self.key.sign(data + hashlib.sha256(told).digest(), ec.ECDSA(hashes.SHA256()))
        return self._shown({"clientDataJSON": told, "authenticatorData": data, "signature": signature})

    def _data(self, name: str, more: int) -> bytes:
        return hashlib.sha256(name.encode()).digest() + bytes([self.flags | more]) + struct.pack(">I", self.count)

    def _told(self, kind: str, challenge: str) -> bytes:
        told = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(told).encode()

    def _shown(self, response: dict[str, bytes]) -> dict[str, Any]:
        texts = {name: text(value) for name, value in response.items()}
        return {"id": text(self.credential), "rawId": text(self.credential), "type": "public-key", "response": texts}


def text(octets: bytes) -> str:
    """Octets as URLs carry them."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")
