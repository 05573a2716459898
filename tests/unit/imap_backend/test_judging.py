"""Remembered headers answer exactly as the query's own meaning does (N-3)."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.query import (
    All,
    And,
    Candidate,
    Contains,
    Field,
    HasAttachment,
    HasFlag,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
    fold,
    matches,
)
from mcp_proton.imap.finding import headlines
from mcp_proton.imap.finding.headlines import KEPT, Columns
from mcp_proton.imap.finding.judging import Judge, bits
from mcp_proton.imap.finding.summaries import LONGEST_TEXT, Block, Book, Library
from mcp_proton.imap.protocol.uids import UidSet

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

WORDS = st.text(alphabet="aAb ßÜüﬁ\n\t", max_size=6)
FIELDS = st.sampled_from(list(Field))
DAY = datetime(2026, 1, 1, tzinfo=UTC)
LEAVES = (
    st.builds(Contains, FIELDS, WORDS)
    | st.builds(HasFlag, st.sampled_from(["seen", "flagged"]))
    | st.builds(Size, st.none() | st.integers(0, 5), st.none() | st.integers(0, 5))
    | st.sampled_from(
        [All(), HasAttachment(), Received(since=DAY), Received(before=DAY), MessageId("<a>"), MessageId("")]
    )
)
QUERIES: st.SearchStrategy[Query] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, max_size=3).map(tuple))
    ),
    max_leaves=5,
)
MESSAGES = st.lists(
    st.tuples(
        st.fixed_dictionaries(dict.fromkeys(KEPT, WORDS)),
        st.sampled_from([DAY.replace(year=2025), DAY, DAY.replace(year=2027)]),
        st.sets(st.sampled_from(["seen", "flagged"])),
        st.sampled_from(["<a>", "<A>", "<ab>", ""]),
        st.sampled_from(["<a>", "<b>", ""]),
    ),
    max_size=8,
)


@UNHURRIED
@given(QUERIES, MESSAGES)
def test_a_block_is_judged_as_each_of_its_messages_is(query: Query, messages: list) -> None:  # type: ignore[type-arg]
    block = Block()
    flagged: dict[str, set[int]] = {"seen": set(), "flagged": set()}
    expected = []
    rows = []
    for uid, (texts, received, flags, message_id, reply) in enumerate(messages, 1):
        for flag in flags:
            flagged[flag].add(uid)
        rows.append((uid, int(received.timestamp()), [fold(texts[one]).encode() for one in KEPT], message_id, reply))
        expected.append(
            matches(query, Candidate(dict(texts), None, received, None, frozenset(flags), None, message_id, reply))
        )
    block.add(columns(rows))
    certain, possible = Judge(query, flagged).of(block)
    assert [row in bits(certain) for row in range(len(rows))] == [answer is True for answer in expected]
    assert [row in bits(possible) for row in range(len(rows))] == [answer is not False for answer in expected]


def columns(rows: list) -> Columns:  # type: ignore[type-arg]
    made = headlines.nothing()
    for uid, date, texts, message_id, reply in rows:
        made.uids.append(uid)
        made.dates.append(date)
        for column, text in zip(made.texts, texts, strict=True):
            column.append(text)
        made.message_ids.append(message_id.encode())
        made.replies.append(reply.encode())
    return made


def summaries(*subjects: tuple[int, bytes]) -> Columns:
    return columns([(uid, 1, [subject, b"", b"", b"", b""], "<m>", "") for uid, subject in subjects])


def test_a_text_too_long_to_keep_is_never_ruled_out() -> None:
    block = Block()
    block.add(summaries((1, b"x" * LONGEST_TEXT + b"needle"), (2, b"short")))
    certain, possible = Judge(Contains(Field.SUBJECT, "needle"), {}).of(block)
    assert (certain, possible) == (0, 1)


def test_an_undated_message_is_not_ruled_out_by_date() -> None:
    block = Block()
    block.add(columns([(1, 0, [b""] * 5, "", "")]))
    assert Judge(Received(since=DAY), {}).of(block) == (0, 1)


def test_a_book_asks_only_for_what_it_was_not_told_yet() -> None:
    book = Book(1)
    book.add(summaries((3, b"a"), (5, b"b")), UidSet.window(1, 9))
    book.add(summaries((3, b"again")), UidSet.window(3, 3))
    assert book.unknown([1, 3, 9, 10, 12]) == [10, 12]
    assert len(book) == 2


def test_the_memory_of_headers_is_bounded_and_lets_the_longest_unused_go() -> None:
    library = Library(room=200_000)
    for tag in ("first", "second", "third"):
        rows = [(uid, b"s" * 100) for uid in range(1, 600)]
        library.book(tag, 1).add(summaries(*rows), UidSet.window(1, 600))
        library.shrink()
    assert library.octets <= library.room
    assert len(library.book("third", 1)) == 599
    assert len(library.book("first", 1)) == 0


def test_a_rebuilt_mailbox_is_remembered_anew() -> None:
    library = Library()
    library.book("tag", 1).add(summaries((1, b"old")), UidSet.window(1, 1))
    assert len(library.book("tag", 2)) == 0
