"""Envelopes taken many lines at a time: the same as row by row, whatever stands between them and wherever it is cut."""

from __future__ import annotations

import asyncio
from array import array
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.imap.errors import LimitExceeded
from mcp_proton.imap.finding.date_lines import DateLines, Received
from mcp_proton.imap.finding.headlines import Columns, DatedHeaderLines, HeaderReader
from mcp_proton.imap.limits import Limits, Timing
from mcp_proton.imap.protocol.connection import Connection
from mcp_proton.imap.protocol.uids import UidSet
from tests.unit.imap.test_fuzz import FRAGMENTS, mutated

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.asks import Taken
    from mcp_proton.imap.protocol.responses import Response

TAG = "ABCDE"
END = b"ABCDE1 OK done\r\n"
ANNA = b'(("Anna" NIL "anna" "example.org"))'


def row(uid: int, subject: bytes = b'"Hello"', *, people: bytes = ANNA, end: bytes = b"\r\n") -> bytes:
    return (
        b'* %d FETCH (UID %d INTERNALDATE "02-Jan-2026 10:20:30 +0100" ENVELOPE ("Fri, 2 Jan 2026 10:20:30 +0100" '
        b'%b %b %b %b (("Me" NIL "me" "example.org")) NIL NIL NIL "<%d@example.org>"))%b'
    ) % (uid, uid, subject, people, people, people, uid, end)


BETWEEN = {
    "a literal": row(50, b"{5}\r\nliter"),
    "an empty literal": row(50, b"{0}\r\n"),
    "a literal that looks like rows": row(50, b"{%d}\r\n%b" % (len(row(9)), row(9))),
    "a tag in a text": row(50, b'"ABCDE1 OK done"'),
    "a tag in a literal": row(50, b"{%d}\r\n%b" % (len(END) + 2, b"\r\n" + END)),
    "an escaped quote": row(50, rb'"say \"ABCDE1 OK\" \\"'),
    "8-bit": row(50, '"Grüße"'.encode()),
    "a lone CR": row(50, b'"a\rb"'),
    "a bare LF": row(50, end=b"\n"),
    "blank lines": b"\r\n\r\n",
    "another order": b"* 50 FETCH (ENVELOPE" + row(50).split(b"ENVELOPE", 1)[1][:-3] + b" UID 50)\r\n",
    "other news": b"* 51 EXISTS\r\n* 1 EXPUNGE\r\n* OK [ALERT] hi\r\n* 3 FETCH (FLAGS (\\Seen) UID 3)\r\n",
    "a wrong tag": b"B1 OK done\r\n",
    "a go-ahead": b"+ go on\r\n",
    "an unknown item": row(50).replace(b"ENVELOPE", b"X-ITEM (a b) ENVELOPE"),
    "a date without colons": row(50).replace(b'10:20:30 +0100" ENV', b'10.20.30 +0100" ENV'),
    "an hour too late": row(50).replace(b'10:20:30 +0100" ENV', b'24:20:30 +0100" ENV'),
    "a leap second": row(50).replace(b'10:20:30 +0100" ENV', b'23:59:60 +0000" ENV'),
    "a signed minute": row(50).replace(b'10:20:30 +0100" ENV', b'10:+2:30 +0100" ENV'),
    "no such day": row(50).replace(b"02-Jan", b"31-Feb"),
    "many people": row(50, people=b"(" + ANNA[1:-1] * 1_000 + b")"),
    "an odd list": row(50, people=b'(("Anna" NIL "anna"))'),
    "a short envelope": b'* 50 FETCH (UID 50 ENVELOPE ("x" "y"))\r\n',
}
BROKEN = {
    "an open quote": row(50, b'"open'),
    "an open quote that the next line closes": row(50, b'"open\r\nclosed"'),
    "an escape before the end of a line": row(50, b'"open\\\r\nclosed"'),
    "a quote inside an id": row(50).replace(b"<50@", b'<50"@'),
    "a date over two lines": row(50).replace(b"02-Jan", b"02\r\nJan"),
    "open lists": b"* 50 FETCH (UID 50 ENVELOPE " + b"(" * 30_000 + b"\r\n",
}


class RowByRow(DatedHeaderLines):
    """Has every line read as a row."""

    reads_lines = False


class Counting(DatedHeaderLines):
    """Counts what was taken together."""

    together = 0

    def take_lines(self, lines: memoryview) -> Taken:
        taken = super().take_lines(lines)
        self.together += taken.responses
        return taken


class Wired:
    """A connection without a socket, and everything it heard."""

    def __init__(self, limits: Limits) -> None:
        self.news: list[Response] = []
        self.connection = Connection(limits, Timing(), watch=lambda response: None, news=self.news.append)
        self.connection._tags = TAG  # so that a server may guess them
        self.connection.on_response(b"* OK hi", ())

    def hear(self, data: bytes) -> None:
        """As asyncio would hand it over."""
        wire, at = self.connection.wire, 0
        while at < len(data) and self.connection.ended is None:
            space = wire.get_buffer(-1)
            count = min(len(space), len(data) - at)
            space[:count] = data[at : at + count]
            wire.buffer_updated(count)
            at += count

    def end(self) -> None:
        self.connection.wire.connection_lost(None)


async def answered(
    ask: DatedHeaderLines, answer: bytes, *cuts: int, limits: Limits | None = None
) -> tuple[Columns | type[Exception], list[Response]]:
    """What an ask yields, or the kind of its error, and the news nobody asked for."""
    wired = Wired(limits or Limits())
    [running] = await wired.connection.start([ask])
    data = answer + END
    for start, stop in zip((0, *cuts), (*cuts, len(data)), strict=True):
        wired.hear(data[start:stop])
    wired.end()
    failed = running.done.exception()
    return (type(failed) if failed is not None else ask.result(running.done.result())), wired.news


def headers(kind: type[DatedHeaderLines] = Counting) -> DatedHeaderLines:
    return kind(UidSet.window(1, 100), HeaderReader())


def by_uid(columns: Columns | type[Exception]) -> object:
    if isinstance(columns, type):
        return columns
    rows = zip(columns.uids, columns.dates, *columns.texts, columns.message_ids, columns.replies, strict=True)
    return sorted(one for one in rows if 1 <= one[0] <= 100)


@pytest.mark.parametrize("name", BETWEEN)
async def test_what_stands_between_lines_changes_nothing_wherever_it_is_cut(name: str) -> None:
    answer = row(1) + row(2, rb'"a \"b\""') + BETWEEN[name] + row(3) + row(4, b"NIL")
    expected, expected_news = await answered(headers(RowByRow), answer)
    assert isinstance(expected, Columns)
    assert {1, 2, 3, 4} <= set(expected.uids)
    at = answer.index(BETWEEN[name])
    for cut in (*range(at - 10, at + min(len(BETWEEN[name]), 120) + 10, 3), len(answer)):
        ask = headers()
        found, news = await answered(ask, answer, cut)
        assert by_uid(found) == by_uid(expected)
        assert news == expected_news
        assert isinstance(ask, Counting)
        assert ask.together >= 4


async def test_lines_may_be_cut_at_every_byte() -> None:
    answer = row(1) + row(2, b"{3}\r\nabc") + row(3)
    expected, _ = await answered(headers(RowByRow), answer)
    for cut in range(len(answer)):
        found, _ = await answered(headers(), answer, cut)
        assert by_uid(found) == by_uid(expected)


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_line_ends_the_connection_as_it_would_alone(name: str) -> None:
    answer = row(1) + BROKEN[name] + row(2)
    found, _ = await answered(headers(), answer)
    expected, _ = await answered(headers(RowByRow), answer)
    assert by_uid(found) == by_uid(expected)
    assert isinstance(found, type)


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(0, 2_000))
def test_whatever_a_server_sends_it_is_read_as_row_by_row(seed: int, changes: int, cut: int) -> None:
    whole = row(1) + row(2, b'"=?utf-8?q?x?="') + row(3, b"{3}\r\nabc") + row(4, rb'"\\"') + row(5, people=b"NIL")
    answer = mutated(whole, seed, changes)
    with asyncio.Runner() as runner:
        found = runner.run(answered(headers(), answer, min(cut, len(answer))))
        expected = runner.run(answered(headers(RowByRow), answer))
    assert (by_uid(found[0]), found[1]) == (by_uid(expected[0]), expected[1])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*FRAGMENTS, row(1), row(2), row(3, end=b"\n")]), max_size=30))
def test_any_pieces_among_rows_are_read_as_row_by_row(pieces: list[bytes]) -> None:
    with asyncio.Runner() as runner:
        found = runner.run(answered(headers(), b"".join(pieces)))
        expected = runner.run(answered(headers(RowByRow), b"".join(pieces)))
    assert (by_uid(found[0]), found[1]) == (by_uid(expected[0]), expected[1])


async def test_lines_taken_together_count_towards_what_one_command_may_gather() -> None:
    found, _ = await answered(headers(), row(1) * 200, limits=Limits(held=100_000))
    assert found is LimitExceeded


async def test_rows_taken_together_that_nobody_waits_for_are_not_kept() -> None:
    ask = headers()
    ask.abandon()
    found, _ = await answered(ask, row(1) * 50)
    assert isinstance(found, Columns)
    assert not found.uids


# --- dates ------------------------------------------------------------------------------------------------------------


def dated(uid: int, spelled: bytes = b'INTERNALDATE "02-Jan-2026 10:20:30 +0100"') -> bytes:
    return b"* %d FETCH (UID %d %b)\r\n" % (uid, uid, spelled)


ODD_DATES = {
    "the UID last": b'* 5 FETCH (INTERNALDATE "02-Jan-2026 10:20:30 +0100" UID 5)\r\n',
    "a blank before the day": dated(5, b'INTERNALDATE " 2-Jan-2026 10:20:30 +0100"'),
    "flags beside it": dated(5, b'FLAGS (\\Seen) INTERNALDATE "02-Jan-2026 10:20:30 +0100"'),
    "no such day": dated(5, b'INTERNALDATE "31-Feb-2026 10:20:30 +0100"'),
    "no date": dated(5, b"FLAGS ()"),
    "another zone": dated(5, b'INTERNALDATE "02-Jan-2026 10:20:30 -0330"'),
    "long ago": dated(5, b'INTERNALDATE "02-Jan-1901 10:20:30 +0000"'),
    "too large a UID": b'* 5 FETCH (UID 9999999999 INTERNALDATE "02-Jan-2026 10:20:30 +0100")\r\n',
    "somebody else's": dated(70),
    "news": b"* 9 EXISTS\r\n* 2 EXPUNGE\r\n",
    "a literal": b"* 5 FETCH (UID 5 INTERNALDATE {26}\r\n02-Jan-2026 10:20:30 +0100)\r\n",
}


class DateByDate(DateLines):
    """Has every line read as a row."""

    reads_lines = False


async def dates_of(kind: type[DateLines], octets: bytes, cut: int) -> dict[int, int]:
    wired = Wired(Limits())
    received = Received(array("I", range(1, 61)))
    running = (await wired.connection.start([kind(UidSet.window(1, 60), received)]))[0]
    for start in range(0, len(octets), cut):
        wired.hear(octets[start : start + cut])
    wired.end()
    assert running.done.exception() is None
    return {
        uid: date for uid, date in zip(received.uids, received.dates, strict=True) if date
    }  # no moment and no date come to the same


@pytest.mark.parametrize("cut", [1, 7, 4_000])
@pytest.mark.parametrize("odd", ODD_DATES)
async def test_dates_taken_many_lines_at_a_time_are_those_of_the_rows(odd: str, cut: int) -> None:
    octets = dated(1) + dated(2) + ODD_DATES[odd] + dated(7) + dated(2) + END
    together = await dates_of(DateLines, octets, cut)
    assert together == await dates_of(DateByDate, octets, cut)
    assert {1, 2, 7} <= set(together) <= {1, 2, 5, 7}
    assert together[1] == 1_767_345_630
