"""Framing: the same responses however the bytes arrive, literals in their own memory, limits that hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.imap.errors import LimitExceeded
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol.wire import AT_ONCE, ROOM, Framer, Sink, Wire

SAMPLE = (
    b"* OK hello\r\n"
    b"* 1 FETCH (UID 1 BODY[] {12}\r\nline\r\n* x\r\n) FLAGS ())\r\n"
    b"* 2 FETCH (BODY[] ~{3}\r\na\x00b UID 2)\n"
    b"\r\n"
    b"* 3 FETCH (BODY[1] {0}\r\n BODY[2] {2}\r\nab)\r\n"
    b"* NO mind the text {5}\r\n"
    b"T1 OK done {7}\r\n"
)
RESPONSES = [
    (b"* OK hello", []),
    (b"* 1 FETCH (UID 1 BODY[] {12} FLAGS ())", [b"line\r\n* x\r\n)"]),
    (b"* 2 FETCH (BODY[] ~{3} UID 2)", [b"a\x00b"]),
    (b"", []),
    (b"* 3 FETCH (BODY[1] {0} BODY[2] {2})", [b"", b"ab"]),
    (b"* NO mind the text {5}", []),
    (b"T1 OK done {7}", []),
]


class Heard:
    """A receiver that remembers."""

    def __init__(self, sink: Sink | None = None) -> None:
        self.responses: list[tuple[bytes, list[bytes]]] = []
        self.lost: list[Exception | None] = []
        self._sink = sink

    def on_response(self, text: bytes, literals: Sequence[bytes]) -> None:
        self.responses.append((text, list(literals)))

    def on_lines(self, lines: memoryview) -> int:
        raise AssertionError("lines were handed over unasked")

    def sink_for(self, head: bytes, size: int) -> Sink | None:
        return self._sink

    def on_lost(self, error: Exception | None) -> None:
        self.lost.append(error)

    def on_writable(self, writable: bool) -> None:
        return


class Collected:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.pieces.append(piece)


def feed(framer: Framer, data: bytes, sizes: Sequence[int] = ()) -> None:
    """The bytes in packets of these sizes, the rest as large as there is room."""
    at = 0
    steps = iter(sizes)
    while at < len(data):
        space = framer.space()
        assert len(space) > 0
        count = min(next(steps, len(space)), len(space), len(data) - at)
        space[:count] = data[at : at + count]
        framer.received(count)
        at += count


def framed(data: bytes, sizes: Sequence[int] = (), limits: Limits | None = None) -> list[tuple[bytes, list[bytes]]]:
    heard = Heard()
    feed(Framer(limits or Limits(), heard), data, sizes)
    return heard.responses


def test_lines_literals_and_texts_are_told_apart() -> None:
    assert framed(SAMPLE) == RESPONSES


@given(st.lists(st.integers(1, 40), max_size=120))
def test_packets_may_be_cut_anywhere(sizes: list[int]) -> None:
    assert framed(SAMPLE, sizes) == RESPONSES


@given(st.lists(st.tuples(st.binary(max_size=300), st.integers(1, 5000)), max_size=6), st.integers(1, 9))
def test_any_literal_comes_through_whole(bodies: list[tuple[bytes, int]], packets: int) -> None:
    literals = [body * repeat for body, repeat in bodies]
    data = b"".join(b"* 1 FETCH (BODY[] {%d}\r\n%b)\r\n" % (len(one), one) for one in literals)
    assert [found[1] for found in framed(data, [1000 * packets] * 9)] == [[one] for one in literals]


def test_a_large_literal_is_received_into_its_own_memory() -> None:
    heard = Heard()
    framer = Framer(Limits(), heard)
    feed(framer, b"* 1 FETCH (BODY[] {3000000}\r\n")
    feed(framer, b"x" * 10)
    assert len(framer.space()) == 3_000_000 - 10
    feed(framer, b"y" * 2_999_990 + b")\r\n")
    assert heard.responses[0][1] == [b"x" * 10 + b"y" * 2_999_990]
    assert len(framer.space()) == ROOM


def test_a_literal_given_to_a_sink_is_not_kept() -> None:
    sink = Collected()
    heard = Heard(sink)
    feed(Framer(Limits(literal=10), heard), b"* 1 FETCH (BODY[] {400000}\r\n" + b"z" * 400_000 + b" UID 4)\r\n")
    assert heard.responses == [(b"* 1 FETCH (BODY[] {400000} UID 4)", [b""])]
    assert b"".join(sink.pieces) == b"z" * 400_000
    assert max(map(len, sink.pieces)) <= ROOM


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        (Limits(line=1000), b"* OK " + b"x" * 400_000),
        (Limits(literal=1000), b"* 1 FETCH (BODY[] {1001}\r\n"),
        (Limits(response=5000), b"* 1 FETCH (" + b"BODY[1] {2000}\r\n" + b"x" * 2000 + b" BODY[2] {4000}\r\n"),
        (Limits(literals=3), b"* 1 FETCH (" + b"BODY[1] {0}\r\n" * 5),
        (Limits(), b"* 1 FETCH (BODY[] {9999999999999999999}\r\n"),
    ],
    ids=["line", "literal", "response", "many literals", "absurd literal"],
)
def test_a_server_cannot_make_us_hold_more_than_the_limits(limits: Limits, data: bytes) -> None:
    with pytest.raises(LimitExceeded):
        framed(data, limits=limits)


class HeardTogether(Heard):
    """Takes runs of rows of flags, as far as they go."""

    def __init__(self) -> None:
        super().__init__()
        self.together = 0

    def on_lines(self, lines: memoryview) -> int:
        assert bytes(lines[-1:]) == b"\n"
        assert len(lines) <= AT_ONCE
        run = re.match(rb"(?:\* [0-9]+ FETCH \(FLAGS \([^()\r\n]*\)\)\r?\n)*", lines)
        assert run is not None
        self.responses += [(text, []) for text in run[0].splitlines()]
        self.together += len(run[0].splitlines())
        return run.end()


ROW = b"* 7 FETCH (FLAGS (a))\r\n"
MIXED = (
    ROW * 3
    + SAMPLE
    + ROW
    + b"* 8 FETCH (BODY[] {44}\r\n"
    + ROW * 2
    + b")\r\n"
    + ROW * 2
    + b"T2 OK {0}\r\n"
    + ROW
    + ROW[:-2]
)


def heard_together(data: bytes, sizes: Sequence[int] = ()) -> HeardTogether:
    heard = HeardTogether()
    framer = Framer(Limits(), heard)
    framer.by_lines = True
    feed(framer, data, sizes)
    return heard


def test_lines_taken_together_are_the_same_wherever_packets_are_cut() -> None:
    expected = framed(MIXED)
    assert len(expected) > len(RESPONSES) + 6
    for cut in range(1, len(MIXED)):
        heard = heard_together(MIXED, [cut])
        assert heard.responses == expected
        assert heard.together
    assert heard_together(MIXED, [1] * len(MIXED)).responses == expected


def test_what_lies_in_a_literal_is_never_taken_for_lines() -> None:
    data = b"* 8 FETCH (BODY[] {%d}\r\n" % (len(ROW) * 2) + ROW * 2 + b")\r\n"
    assert heard_together(data).together == 0


def test_lines_are_handed_over_in_pieces_of_bounded_size() -> None:
    heard = heard_together(ROW * 20_000)
    assert (len(heard.responses), heard.together) == (20_000, 20_000)


def test_a_line_longer_than_a_piece_is_cut_alone() -> None:
    long = b"* SEARCH " + b"1 " * AT_ONCE
    assert heard_together(ROW + long + b"\r\n" + ROW).responses == framed(ROW + long + b"\r\n" + ROW)


def test_after_halting_nothing_is_looked_at() -> None:
    heard = Heard()
    framer = Framer(Limits(), heard)

    class Halting(Heard):
        def on_response(self, text: bytes, literals: Sequence[bytes]) -> None:
            super().on_response(text, literals)
            framer.halted = True

    halting = Halting()
    framer = Framer(Limits(), halting)
    feed(framer, b"T1 OK begin TLS\r\n* CAPABILITY EVIL\r\n")
    assert halting.responses == [(b"T1 OK begin TLS", [])]
    assert framer.waiting == len(b"* CAPABILITY EVIL\r\n")


def test_room_grows_for_a_long_line_and_shrinks_again() -> None:
    heard = Heard()
    framer = Framer(Limits(), heard)
    feed(framer, b"* SEARCH " + b"1 " * 700_000 + b"\r\n")
    assert len(heard.responses[0][0]) == 9 + 1_400_000
    assert len(framer.space()) == ROOM


async def test_a_broken_connection_is_told_once() -> None:
    heard = Heard()
    wire = Wire(Limits(line=10), heard)
    wire.connection_lost(None)
    wire.connection_lost(OSError())
    wire.fail(LimitExceeded("late"))
    assert heard.lost == [None]
    await asyncio.sleep(0)
