"""When a server may be asked again: what it asked for itself (Retry-After), else twice as long after each failure, with
jitter; remembered between callers, so that a hundred requests do not become a hundred more."""

from __future__ import annotations

import asyncio
import random
import time
from email.utils import parsedate_to_datetime

from mcp_proton.domain.errors import Ambiguous, AuthFailed, MailError, Unavailable
from mcp_proton.domain.pauses import doubled
from mcp_proton.jmap.errors import Overloaded

FIRST, LONGEST = 0.2, 30.0
CALLER = 4.0
"""seconds a caller is made to wait; beyond, it is told so at once"""
MOST_ASKED = 3_600.0
REFUSED = 5.0
"""seconds before a login that was refused is tried again: many servers lock an account that is tried often"""


class Patience:
    """The memory of one server."""

    def __init__(self) -> None:
        self._failures = 0
        self._not_before = 0.0
        self._error: MailError | None = None

    async def turn(self) -> None:
        """Wait until the server may be asked. Raises what it last failed with where that is too long to wait."""
        left = self._not_before - time.monotonic()
        if left <= 0:
            return
        if left > CALLER and self._error is not None:
            raise self._error
        await asyncio.sleep(left)

    def well(self) -> None:
        """It answered."""
        self._failures, self._error, self._not_before = 0, None, 0.0

    def another_login(self) -> None:
        """Another secret is shown than the one that was refused."""
        if isinstance(self._error, AuthFailed):
            self.well()

    def note(self, error: MailError) -> None:
        """It did not."""
        if isinstance(error, Ambiguous) and isinstance(error.__cause__, MailError):
            error = error.__cause__
        if isinstance(error, AuthFailed):
            self._error, self._not_before = error, time.monotonic() + REFUSED
        if not isinstance(error, Unavailable) or not error.retry:
            return
        self._failures += 1
        pause = doubled(self._failures, FIRST, LONGEST) * random.uniform(0.75, 1.25)  # noqa: S311
        if isinstance(error, Overloaded) and error.wait is not None:
            pause = min(error.wait, MOST_ASKED)
        self._error, self._not_before = error, time.monotonic() + pause


def asked_for(header: str | None) -> float | None:
    """The seconds of a Retry-After (RFC 9110 §10.2.3), as a number or a date; None where it says nothing usable."""
    if header is None:
        return None
    if header.isascii() and header.isdigit() and len(header) < 8:
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
