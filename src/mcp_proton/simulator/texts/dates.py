"""Dates in mail headers, as Bridge accepts (gluon's reading of RFC 5322) and prints them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_COMMENT = re.compile(r"\((?:[^()\\]|\\.)*\)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ZONES = {"ut": 0, "gmt": 0, "utc": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
          "pdt": -7}  # fmt: skip
_DATE = re.compile(
    r"\s*+(?:(?:[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]|[Ss][Uu][Nn])\s*+,)?"
    rf"\s*+(?P<day>\d\d?+)\s*+(?P<month>{'|'.join(_MONTHS)})\s*+(?P<year>\d{{1,4}}+)\s*+"
    r"(?P<hour>\d\d?+)\s*+:\s*+(?P<minute>\d\d?+)\s*+(?::\s*+(?P<second>\d\d?+)\s*+)?(?!:)"
    r"(?:(?P<zone>[+-]?\d{3,4}+|[+-]?[A-Za-z]+)|(?![+\-\dA-Za-z]))"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZERO = datetime(1, 1, 1, tzinfo=UTC)


def parse_date(value: str, this_year: int) -> datetime | None:
    """The moment a Date header names, None if Bridge can't read it.

    Two-digit years up to `this_year` belong to this century. Overlong days and hours roll over, as in Go.
    """
    match = _DATE.match(_without_comments(value))
    if not match:
        return None
    offset = _zone_offset(match["zone"])
    if offset is None:
        return None
    year = _year(match["year"], this_year)
    try:
        start = datetime(year, _MONTHS.index(match["month"]) + 1, 1, tzinfo=UTC)
        return (
            start
            - offset
            + timedelta(
                days=int(match["day"]) - 1,
                hours=int(match["hour"]),
                minutes=int(match["minute"]),
                seconds=int(match["second"] or 0),
            )
        )
    except (ValueError, OverflowError):
        return ZERO if year < 1 else datetime.max.replace(tzinfo=UTC)


def _year(digits: str, this_year: int) -> int:
    year = int(digits[:2])
    if len(digits) > 2:
        return year * 100 + int(digits[2:])
    return year + (1900 if year > this_year % 100 else 2000)


def _without_comments(value: str) -> str:
    while True:
        shorter = _COMMENT.sub(" ", value[:1000])
        if shorter == value[:1000]:
            return shorter
        value = shorter


def _zone_offset(zone: str | None) -> timedelta | None:
    if not zone:
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    bare = zone.lstrip("+-")
    if bare.isdigit():
        return sign * timedelta(hours=int(bare[:2]), minutes=int(bare[2:]))
    hours = _ZONES.get(bare.lower())
    return None if hours is None else timedelta(hours=hours)


def rfc1123(moment: datetime) -> str:
    """The one form in which Bridge writes dates: English names, UTC, `+0000`."""
    utc = moment.astimezone(UTC)
    return (
        f"{_DAYS[utc.weekday()]}, {utc.day:02} {_MONTHS[utc.month - 1]} {utc.year:04} "
        f"{utc.hour:02}:{utc.minute:02}:{utc.second:02} +0000"
    )
