"""Client tokens: what a client shows to be let in over HTTP. The owner makes one, and sees it once.

`mcpp_<id>_<secret>`: recognisable wherever one is left lying about; the id may be shown, the secret (256 bits) is known
to the client alone. What is kept is the id and a SHA-256 of the whole.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

PREFIX = "mcpp"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_ID, _SECRET = 10, 50
_FORM = re.compile(rf"{PREFIX}_([a-z0-9]{{{_ID}}})_[a-z0-9]{{{_SECRET}}}")
_NOBODYS = b"\0" * 32


@dataclass(frozen=True, slots=True)
class ClientToken:
    """What is kept of a token. `id` is its public half."""

    id: str
    client: str
    digest: bytes
    created: datetime
    expires: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        """Whether its time has passed."""
        return self.expires is not None and self.expires <= now

    @property
    def shown(self) -> str:
        """The part that may be shown."""
        return f"{PREFIX}_{self.id}"


class Tokens(Protocol):
    """The tokens the owner made. What is issued, replaced or withdrawn holds at once, in every process."""

    async def issue(self, client: str, expires: datetime | None = None) -> str:
        """Make a client's token and return it, for the only time. An earlier one of the client's is over."""
        ...

    async def withdraw(self, client: str) -> bool:
        """End a client's token. False when it had none."""
        ...

    async def listed(self) -> Sequence[ClientToken]:
        """Return what is kept, by client."""
        ...

    async def check(self, shown: str) -> ClientToken | None:
        """Return whose token this is; None for one that is nobody's (any more), or whose time has passed."""
        ...


def new(client: str, created: datetime, expires: datetime | None) -> tuple[str, ClientToken]:
    """Make a token: the text for the client, and what is kept."""
    public = _letters(_ID)
    text = f"{PREFIX}_{public}_{_letters(_SECRET)}"
    return text, ClientToken(public, client, digest(text), created, expires)


def digest(text: str) -> bytes:
    """Return the SHA-256 of a token. Its secret is random and long, so that a plain hash keeps it."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def public_half(text: str) -> str | None:
    """Return the id in a token; None where it has not the form of one."""
    found = _FORM.fullmatch(text)
    return found[1] if found else None


def matches(text: str, kept: ClientToken | None) -> bool:
    """Whether a token is the kept one. Takes the same time whatever is wrong with it."""
    return hmac.compare_digest(digest(text), kept.digest if kept else _NOBODYS) and kept is not None


def _letters(count: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(count))
