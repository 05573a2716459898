"""The key that signs our access tokens: made once, in a file of the owner's alone. Without it they are all over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from mcp_proton.domain.errors import Unavailable
from mcp_proton.storage.files import read_owned, write_private

if TYPE_CHECKING:
    from pathlib import Path


def signing_key(path: Path) -> ECKey:
    """Return the key, a new one where there is none yet. Raises `Unavailable` for a file that holds none."""
    try:
        text, _ = read_owned(path)
        return ECKey.import_key(text)
    except FileNotFoundError:
        made = ECKey.generate_key("P-256")
        write_private(path, made.as_pem(private=True))
        return made
    except (JoseError, ValueError):
        raise Unavailable(
            "the file of the signing key holds no key",
            code="signing_key",
            next=f"remove {path.name} in the state folder",
        ) from None
