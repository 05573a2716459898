"""mbox: what is written is read back, however it is cut into pieces."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime import mbox

LINES = st.lists(
    st.sampled_from([b"From me", b">From me", b">>From x", b"", b"hello", b"From", b" From ", b"\x00\xff"])
)


def through(rewriting: mbox.Quoting | mbox.Unquoting, data: bytes, step: int) -> bytes:
    pieces = [rewriting.feed(data[start : start + step]) for start in range(0, len(data), step)]
    return b"".join([*pieces, rewriting.finish()])


@given(LINES, st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_quoting_and_unquoting_give_the_message_back(lines: list[bytes], one: int, two: int, ended: bool) -> None:
    """P-63."""
    message = b"\r\n".join(lines) + b"\r\n" * ended
    quoted = through(mbox.Quoting(), message, one)
    assert not any(line.startswith(b"From ") for line in quoted.split(b"\n"))
    assert b"\r\n" not in quoted
    assert through(mbox.Unquoting(), quoted, two) == message


@given(st.one_of(LINES.map(b"\r\n".join), LINES.map(b"\n".join), LINES.map(b"\r".join)), st.booleans())
def test_a_message_at_once_becomes_the_same_entry_as_in_pieces(message: bytes, ended: bool) -> None:
    message += b"\r\n" * ended
    quoting = mbox.Quoting()
    entry = quoting.feed(message) + quoting.finish()
    assert mbox.quoted(message) == entry + (b"\n" if quoting.at_start else b"\n\n")


@pytest.mark.parametrize("length", [1 << 16, (1 << 20) + 7])
def test_a_line_without_end_is_passed_on_in_bounded_memory(length: int) -> None:
    quoting = mbox.Quoting()
    given_out = 0
    for _ in range(64):
        given_out += len(quoting.feed(b"x" * (length // 64)))
    assert length - given_out <= (1 << 16) + length // 64
    assert given_out + len(quoting.finish()) == length // 64 * 64


@pytest.mark.parametrize(
    ("line", "when"),
    [
        (b"From a@b Mon Nov 30 10:00:00 2026\n", datetime(2026, 11, 30, 10, tzinfo=UTC)),
        (b"From a@b  Mon Nov  3 10:00 2026", datetime(2026, 11, 3, 10, tzinfo=UTC)),
        (b"From - Mon Nov 30 10:00:00 +0200 2026\r\n", datetime(2026, 11, 30, 8, tzinfo=UTC)),
        (b"From x Mon Nov 30 10:00:00 2026 -0100\n", datetime(2026, 11, 30, 11, tzinfo=UTC)),
        (b"From  Mon Nov 30 10:00:00 2026\n", datetime(2026, 11, 30, 10, tzinfo=UTC)),
        (b"From x Mon Foo 30 10:00:00 2026\n", None),
        (b"From x Mon Feb 31 10:00:00 2026\n", None),
    ],
)
def test_separators_are_read_as_programs_write_them(line: bytes, when: datetime | None) -> None:
    assert mbox.begins(line)
    assert mbox.received(line) == when


@pytest.mark.parametrize(
    "line",
    [b"From Monday on we meet", b">From a@b Mon Nov 30 10:00:00 2026", b"from a@b Mon Nov 30 10:00:00 2026", b""],
)
def test_a_sentence_is_no_separator(line: bytes) -> None:
    assert not mbox.begins(line)


@given(st.text(), st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)))
def test_our_own_separators_are_separators_whoever_sent_it(sender: str, when: datetime | None) -> None:
    line = mbox.separator(sender, when.replace(tzinfo=UTC) if when else None)
    assert line.count(b"\n") == 1
    assert mbox.begins(line)
    assert mbox.received(line) == (
        when.replace(tzinfo=UTC, microsecond=0) if when else datetime(1970, 1, 1, tzinfo=UTC)
    )
