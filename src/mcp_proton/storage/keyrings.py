"""The system's own password store, chosen by name.

Never keyring's automatic chain: a backend somebody installed may ask for a password on the terminal or write plain
text. Imported only when an account asks for it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Protocol

_BACKENDS = {
    "linux": "keyring.backends.SecretService.Keyring",
    "darwin": "keyring.backends.macOS.Keyring",
    "win32": "keyring.backends.Windows.WinVaultKeyring",
}


class Keyring(Protocol):
    """As much of a keyring backend as is needed here."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password, None when there is none."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete a password."""
        ...


def system_keyring() -> Keyring:
    """Return this system's own store, by name: never keyring's chain, in which a plaintext file may stand."""
    name = _BACKENDS.get("linux" if sys.platform.startswith(("linux", "freebsd")) else sys.platform)
    if name is None:
        raise LookupError("no keyring is known for this system")
    module, _, kind = name.rpartition(".")
    backend: type[Keyring] = getattr(importlib.import_module(module), kind)
    return backend()
