"""A query means the same on every backend: three-valued matching on decoded text (P-53, N-3)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.query import (
    All,
    And,
    Candidate,
    Contains,
    Field,
    HasFlag,
    HeaderContains,
    Linked,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
    fold,
    looks_inside,
    matches,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
KNOWN = Candidate(
    texts={
        Field.SUBJECT: "Straßenfest am Größten Platz",
        Field.FROM: "Ünal <u@example.org>",
        Field.TO: "me@example.org",
        Field.CC: "",
        Field.BCC: "",
        Field.BODY: "Wir sehen\nuns  dort",
    },
    headers=lambda name: ["News <n.example.org>"] if name.lower() == "list-id" else [],
    received=NOON,
    size=1000,
    flags=frozenset({"seen"}),
    has_attachments=False,
    message_id="<a@x>",
    in_reply_to="<b@x>",
)

leaves = st.one_of(
    st.just(All()),
    st.builds(Contains, st.sampled_from(Field), st.text(max_size=4)),
    st.builds(HasFlag, st.sampled_from(["seen", "flagged"])),
    st.builds(Size, larger=st.integers(0, 2000)),
    st.builds(MessageId, st.sampled_from(["<a@x>", "<c@x>"])),
)
queries: st.SearchStrategy[Query] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Contains(Field.SUBJECT, "STRASSENFEST"), True),
        (Contains(Field.SUBJECT, "größten"), True),
        (Contains(Field.FROM, "ünal"), True),
        (Contains(Field.PARTICIPANT, "me@example"), True),
        (Contains(Field.BODY, "sehen uns dort"), True),
        (Contains(Field.TEXT, "nowhere"), False),
        (HeaderContains("List-Id", "news"), True),
        (HeaderContains("List-Id", ""), True),
        (HeaderContains("X-None", ""), False),
        (Received(since=NOON), True),
        (Received(before=NOON), False),
        (Size(larger=999, smaller=1001), True),
        (Size(larger=1000), False),
        (MessageId("<A@X>"), False),
        (Linked(frozenset({"<b@x>"})), True),
        (Linked(frozenset({"<z@x>"})), False),
    ],
)
def test_a_term_means_what_a_person_means(query: Query, expected: bool) -> None:
    assert matches(query, KNOWN) is expected
    assert matches(Not(query), KNOWN) is not expected


@given(queries)
def test_what_is_fully_known_is_always_decided(query: Query) -> None:
    assert matches(query, KNOWN) is not None


@given(queries, st.sets(st.sampled_from(Field)))
def test_knowing_less_never_changes_an_answer_only_withholds_it(query: Query, hidden: set[Field]) -> None:
    texts = {where: text for where, text in KNOWN.texts.items() if where not in hidden}
    less = Candidate(texts=texts, flags=KNOWN.flags, size=KNOWN.size, message_id=KNOWN.message_id)
    answer = matches(query, less)
    assert answer is None or answer == matches(query, KNOWN)


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_only_a_search_that_would_tell_content_looks_inside() -> None:
    assert looks_inside(And((HasFlag("seen"), Not(Contains(Field.BODY, "x")))))
    assert looks_inside(HeaderContains("Received", "x"))
    assert not looks_inside(Or((Contains(Field.SUBJECT, "x"), Contains(Field.FROM, "y"))))
