"""The owner passphrase: lets the owner approve where there is no terminal. Only its scrypt hash is kept (RFC 7914)."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from typing import TYPE_CHECKING

from mcp_proton.admin.setting_up.login import first_line
from mcp_proton.config import folders
from mcp_proton.storage.files import read_owned, write_private

if TYPE_CHECKING:
    from pathlib import Path

_COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024, "dklen": 32}
_SHORTEST = 8


def keep(passphrase: str) -> None:
    """Replace the passphrase. Raises ValueError for one that is too short to be one."""
    if len(passphrase) < _SHORTEST:
        raise ValueError(f"the passphrase needs at least {_SHORTEST} characters")
    salt = secrets.token_bytes(16)
    digest = hashlib.scrypt(passphrase.encode(), salt=salt, **_COST)
    write_private(_file(), f"scrypt {salt.hex()} {digest.hex()}\n".encode())


def matches(source: Path) -> bool:
    """Whether the first line of a file ("-": standard input) is the passphrase. False when none was set."""
    offered = first_line(source)
    try:
        _, salt, digest = read_owned(_file())[0].split()
    except (FileNotFoundError, ValueError):
        return False
    computed = hashlib.scrypt(offered.encode(), salt=bytes.fromhex(salt), **_COST)
    return hmac.compare_digest(computed, bytes.fromhex(digest))


def _file() -> Path:
    return folders.find(os.environ).state / "owner-passphrase"
