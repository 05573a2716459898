"""Continuations: short, bound to what was asked, and never an internal fault."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import Order
from mcp_proton.domain.query import All, Contains, Field
from mcp_proton.imap.finding import cursors
from mcp_proton.imap.finding.cursors import Cursor, Mark
from mcp_proton.imap.finding.windows import union
from mcp_proton.imap.protocol.uids import UidSet

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

BOX = Mailbox("me", "INBOX", "INBOX", Role.INBOX)
NUMBER = st.integers(1, 0xFFFF_FFFF)
MARKS = st.builds(Mark, NUMBER, NUMBER, st.sets(NUMBER, max_size=9).map(lambda uids: union(UidSet.of(uids))))
CURSORS = st.builds(
    Cursor,
    st.none() | st.tuples(st.tuples(NUMBER, NUMBER), st.just("abcdef")),
    st.dictionaries(st.sampled_from(["abcdef", "uvwxyz"]), MARKS, min_size=1),
)


@UNHURRIED
@given(CURSORS)
def test_a_cursor_is_read_as_it_was_written(cursor: Cursor) -> None:
    assert cursors.read(cursor.write("x"), "x") == cursor


@UNHURRIED
@given(st.text(max_size=60))
def test_any_other_text_is_refused_as_invalid(text: str) -> None:
    with contextlib.suppress(Invalid):
        assert cursors.read(f"x~{text}", "x").marks


def test_a_cursor_belongs_to_one_request() -> None:
    asked = cursors.asking([BOX], All(), Order.NEWEST)
    cursor = Cursor(None, {BOX.tag: Mark(1, 2)}).write(asked)
    for other in (
        cursors.asking([BOX], All(), Order.OLDEST),
        cursors.asking([BOX], Contains(Field.SUBJECT, "x"), Order.NEWEST),
        cursors.asking([BOX, Mailbox("me", "Sent", "Sent", Role.SENT)], All(), Order.NEWEST),
    ):
        with pytest.raises(Invalid):
            cursors.read(cursor, other)


def test_a_cursor_of_one_mailbox_is_short() -> None:
    cursor = Cursor(((1_790_000_000, 49_975), BOX.tag), {BOX.tag: Mark(1_711_540_000, 50_000)})
    assert len(cursor.write("01234567")) <= 56
