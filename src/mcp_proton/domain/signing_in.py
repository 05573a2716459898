"""Signing in: the owner's passkeys, and what programs were let in with one.

A sign-in is what the owner gave one program: as which client, with which scopes, until when. The program renews its short
access tokens by a refresh token that is another one each time; only hashes of those are kept.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

MOST_PASSKEYS = 8
MOST_SIGN_INS = 128
MOST_ROTATIONS = 10_000
LIFE = timedelta(days=30)
"""A sign-in ends so long after it began, however often it was renewed (A-32)."""
OVERLAP = timedelta(seconds=10)
"""So long the newest refresh token that was used may be shown once more: two connections of a program renew at once."""
ENROLMENT_LIFE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey of the owner's. `credential` is its id, `key` what checks its signatures (an attested credential, CTAP 2.1
    §6.1), `count` how often it said it was used, where it counts.
    """

    credential: bytes
    key: bytes
    name: str
    created: datetime
    used: datetime | None = None
    count: int = 0

    @property
    def id(self) -> str:
        """A short name for lists and commands."""
        return hashlib.sha256(self.credential).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class SignIn:
    """What one program was given. `program` is where its answers go, as far as that may be shown: a host or a scheme."""

    id: str
    client: str
    program: str
    scopes: tuple[str, ...]
    created: datetime
    ends: datetime
    renewed: datetime


class Over(StrEnum):
    """Why a refresh token is good for nothing."""

    UNKNOWN = "unknown"
    ENDED = "ended"
    REUSED = "reused"


class Passkeys(Protocol):
    """The owner's passkeys."""

    async def invite(self) -> str:
        """Return a code by which one passkey can be added, once, within ten minutes. An earlier code is over."""
        ...

    async def invited(self, code: str) -> bool:
        """Whether a code is good now."""
        ...

    async def add(self, code: str, credential: bytes, key: bytes, name: str) -> Passkey | None:
        """Spend a code and keep a passkey. None where the code is not good (any more); `OverLimit` for a ninth passkey."""
        ...

    async def listed(self) -> Sequence[Passkey]:
        """Return them, the oldest first."""
        ...

    async def used(self, credential: bytes, count: int) -> bool:
        """Note a use. False where the passkey is gone, or counts backwards: somebody has a copy of it."""
        ...

    async def remove(self, id: str) -> bool:
        """Remove the one of this short name. False when there is none."""
        ...


class SignIns(Protocol):
    """What programs were given. What is ended is over at once, in every process."""

    async def begin(self, client: str, program: str, scopes: Sequence[str]) -> tuple[SignIn, str]:
        """Keep a new one and return it with its refresh token. Beyond 128 the longest unused one ends."""
        ...

    async def renew(self, refresh: str) -> tuple[SignIn, str] | Over:
        """Spend a refresh token and return the next one, or why there is none.

        One that was spent before ends its whole sign-in: somebody has a copy (RFC 9700 §4.14.2).
        """
        ...

    async def of(self, refresh: str) -> SignIn | None:
        """Return whose refresh token this is, spent or not, without spending it."""
        ...

    async def check(self, id: str) -> SignIn | None:
        """Return one that holds now."""
        ...

    async def listed(self) -> Sequence[SignIn]:
        """Return all that hold, the oldest first."""
        ...

    async def end(self, *, id: str | None = None, client: str | None = None) -> int:
        """End one, all of a client's, or (neither given) all. Returns how many."""
        ...


def new_refresh() -> str:
    """Return a refresh token: 256 bits that nobody can guess, recognisable wherever one is left lying about."""
    return f"mcpr_{secrets.token_urlsafe(32)}"


def new_code() -> str:
    """Return a code that a person can type: 80 bits in four groups."""
    letters = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def digest(secret: str) -> str:
    """Return what is kept of a refresh token or a code. Both are random and long, so that a plain hash keeps them."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def typed(code: str) -> str:
    """Return a code as it was printed, however it was typed: hyphens, blanks and capitals do not matter."""
    letters = re.sub(r"[\s-]+", "", code).lower()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))
