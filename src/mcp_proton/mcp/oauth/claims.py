"""Claims: what a token says, and whether that is said to us, now, by whom we trust (RFC 9068 §4, J-81)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SKEW = 30.0
"""Seconds by which another machine's clock may be ahead of ours for `nbf`; an `exp` is taken at its word."""
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
_MOST = 512


@dataclass(frozen=True, slots=True)
class Said:
    """Of whom a token speaks, what it may be used for, and until when (seconds since 1970). `email` and `name` are what its
    issuer says besides (OpenID Connect Core §5.1): to be shown, and nothing to decide by.
    """

    subject: str
    scopes: frozenset[str]
    expires: float
    email: str | None = field(default=None, repr=False)
    name: str | None = field(default=None, repr=False)


def said(claims: Mapping[str, Any], *, issuer: str, audience: str, now: float) -> Said | None:
    """Return what a token says; None where it is for somebody else, from somebody else, over or not yet good."""
    subject, expires, begins = _line(claims.get("sub")), _instant(claims.get("exp")), _instant(claims.get("nbf", 0))
    meant = claims.get("aud")
    audiences = meant if isinstance(meant, list) else [meant]
    if subject is None:
        return None
    if expires is None or expires <= now or begins is None or begins > now + SKEW:
        return None
    if claims.get("iss") != issuer or audience not in audiences:
        return None
    return Said(subject, _scopes(claims), expires, _line(claims.get("email")), _line(claims.get("name")))


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    found = claims.get("scope", claims.get("scp", ""))
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(word for word in words if isinstance(word, str))


def _line(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MOST and value.isprintable() else None


def _instant(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e11 else None
