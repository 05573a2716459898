"""Names nobody can guess."""

from __future__ import annotations

import base64
import secrets


def new_id(prefix: str) -> str:
    """Return a prefix and 16 letters (80 bits): `op_7f3k...`."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(10)).decode().lower()}"
