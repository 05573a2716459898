"""Access tokens: what is shown instead of a password (RFC 6750).

One is kept in memory until shortly before its end, or until it was refused; then its source is asked anew, once for all
who wait. A token is never logged, never part of an error and never in a `repr`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

NEAR = 60.0
"""seconds before its end in which a token is shown no more"""
UNTOLD = 300.0
"""how long a token is kept that nobody told the end of"""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,8192}=*")  # RFC 6750 §2.1


@dataclass(frozen=True, slots=True)
class Issued:
    """A token and its end, in seconds since the epoch; None where nobody told it."""

    token: str = field(repr=False)
    ends: float | None = None


class AccessTokens:
    """`source` gives a new one, or raises AuthFailed or another Unavailable; `now` is the time since the epoch."""

    def __init__(self, source: Callable[[], Awaitable[Issued]], now: Callable[[], float] = time.time) -> None:
        self._source, self._now = source, now
        self._one_at_a_time = asyncio.Lock()
        self._kept: Issued | None = None
        self._until = 0.0

    async def current(self) -> str:
        """A token that should be good."""
        async with self._one_at_a_time:
            return await self._good()

    async def instead_of(self, refused: str) -> str | None:
        """Another token than the refused one; None where the source has no other."""
        async with self._one_at_a_time:
            if self._kept is not None and self._kept.token == refused:
                self._kept = None
            found = await self._good()
            return None if found == refused else found

    def end_of(self, token: str) -> float | None:
        """When a token ends, as its source told, or the token itself; None where nobody did."""
        kept = self._kept
        return kept.ends if kept is not None and kept.token == token and kept.ends is not None else expiry(token)

    async def _good(self) -> str:
        if self._kept is None or self._now() >= self._until:
            self._kept = None
            got = await self._source()
            now = self._now()
            self._until = now + UNTOLD if got.ends is None else got.ends - min(NEAR, max(0.0, got.ends - now) / 2)
            self._kept = got
        return self._kept.token


def checked(token: object) -> str:
    """The token. Raises AuthFailed for what is none: a program's words of regret, or what would become a command."""
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise AuthFailed(
            "what was given as an access token is none", next="look at what the command prints, or the file holds"
        )
    return token


def printed(text: str, now: float) -> Issued:
    """The line a command prints or a file holds: a token, or JSON as a token endpoint answers (`of_answer`)."""
    if not text.startswith("{"):
        token = checked(text.strip())
        return Issued(token, expiry(token))
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = {}
    return of_answer(answer, now)


def of_answer(answer: Mapping[str, object], now: float) -> Issued:
    """RFC 6749 §5.1: `access_token` and `expires_in`; many programs tell `expires_at` or `expiry` instead."""
    token = checked(answer.get("access_token") or answer.get("token"))
    lasts = _seconds(answer.get("expires_in"))
    if lasts is not None:
        return Issued(token, now + lasts)
    told = answer.get("expires_at") or answer.get("expiry")
    return Issued(token, _moment(told) or expiry(token))


def expiry(token: str) -> float | None:
    """The `exp` of a JWT (RFC 7519 §4.1.4), unverified: it only decides when to ask for another. None for any other."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return _seconds(claims.get("exp")) if isinstance(claims, dict) else None


def _moment(told: object) -> float | None:
    if isinstance(told, str) and not told.isdigit():
        try:
            return datetime.fromisoformat(told).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return _seconds(told)


def _seconds(told: object) -> float | None:
    if isinstance(told, str) and told.isascii() and told.isdigit() and len(told) < 16:
        return float(told)
    if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 <= told < 1e15:
        return float(told)
    return None
