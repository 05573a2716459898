"""The Date field of an ENVELOPE: the quick reader of the usual spelling says what `mime` says."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.imap.envelopes import date_of
from mcp_proton.mime.header.dates import date

ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2099, 12, 31), timezones=ZONES)


@given(MOMENTS, st.sampled_from(["%a, %d %b %Y %H:%M:%S %z", "%d %b %Y %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z (CET)"]))
def test_a_date_in_the_usual_spelling_is_read_to_the_second(moment: datetime, spelling: str) -> None:
    moment = moment.replace(microsecond=0)
    assert date_of(moment.strftime(spelling).encode()) == moment


@given(
    st.from_regex(
        rb"\A(?:[A-Z][a-z]{2}, )?[0-9]{1,2} (?:Feb|Mar|Xyz) [12][0-9]{3} [0-9:]{5}[:.][0-9]{2} [+-][0-9]{4}\Z"
    )
)
def test_what_is_nearly_the_usual_spelling_is_read_as_mime_reads_it(told: bytes) -> None:
    assert date_of(told) == date(told)


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b":00 +0000",
        b"Mon, 01 Dec 2026",
        b"Mon, 31 Feb 2026 08:00:00 +0000",
        b"1 Jan 1970 00:00:00 +2400",
        b")",
        b"Sat, 31 Dec 2016 23:59:60 +0000",
    ],
)
def test_what_is_no_usual_date_is_left_to_mime(told: bytes) -> None:
    assert date_of(told) == date(told)
