"""Keeping: what is under way between two requests, under names nobody can guess, not for long and not without end (J-88)."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 600.0
MOST = 2_048

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values that are forgotten after `seconds`, and the oldest of them where there are more than `most`.

    Of their names only hashes are kept: looking one up takes the same time whatever is shown.
    """

    def __init__(self, seconds: float = SECONDS, most: int = MOST, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._now = now
        self._kept: OrderedDict[bytes, tuple[float, Value]] = OrderedDict()

    def __len__(self) -> int:
        self._forget()
        return len(self._kept)

    def put(self, value: Value, name: str | None = None) -> str:
        """Keep a value and return its name."""
        name = name or secrets.token_urlsafe(32)
        self._kept[_hash(name)] = (self._now() + self._seconds, value)
        self._forget()
        return name

    def look(self, name: object) -> Value | None:
        """Return a value, None where there is none (any more)."""
        self._forget()
        found = self._kept.get(_hash(name)) if isinstance(name, str) else None
        return None if found is None else found[1]

    def take(self, name: object) -> Value | None:
        """Return a value for the last time."""
        found = self.look(name)
        if found is not None:
            assert isinstance(name, str)
            del self._kept[_hash(name)]
        return found

    def _forget(self) -> None:
        while self._kept:
            until, _ = next(iter(self._kept.values()))
            if until > self._now() and len(self._kept) <= self._most:
                return
            self._kept.popitem(last=False)


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()
