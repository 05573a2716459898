"""Date fields (RFC 5322 §3.3, and what is written instead) → aware instants."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

from mcp_proton.mime.decoding.characters import line

_EARLY = re.compile(r"\b0[0-9]{3}\b(?<![+-][0-9]{4})")
"""A year below 1000: the parser would take 0001 for 2001."""
_DAY = 24 * 3600


def date(raw: bytes | str | None) -> datetime | None:
    """Return the instant in its own offset (UTC where none is given), or None where the field holds no date."""
    text = raw.decode("ascii", "replace") if isinstance(raw, bytes) else raw or ""
    text = line(text[:200])
    found = None if _EARLY.search(text) else _rfc5322(text) or _iso(text)
    return found if found is not None and 1900 <= found.year <= 2500 else None


def _rfc5322(text: str) -> datetime | None:
    try:
        parsed = parsedate_tz(text)
        if parsed is None:
            return None
        year, month, day, hour, minute, second = parsed[:6]
        offset = parsed[9] or 0
        zone = timezone(timedelta(seconds=offset)) if abs(offset) < _DAY else UTC
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
    except (ValueError, OverflowError, TypeError, IndexError, AttributeError):
        return None


def _iso(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
