"""Query → SEARCH: never narrower than what was asked (N-3)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from mcp_proton.domain.query import (
    All,
    And,
    Contains,
    Field,
    HasAttachment,
    HasFlag,
    HeaderContains,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
)
from mcp_proton.imap.finding import criteria
from mcp_proton.imap.finding.criteria import CHEAP, Kind
from mcp_proton.imap.protocol import writer


def written(query: Query, kinds: frozenset[Kind] = frozenset(Kind)) -> bytes | None:
    key = criteria.superset(query, kinds)
    if key is None:
        return None
    return b"".join(piece if isinstance(piece, bytes) else piece.data for piece in writer.line(*key))


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (HasFlag("seen"), b"SEEN"),
        (HasFlag("forwarded"), b"KEYWORD $Forwarded"),
        (Not(HasFlag("seen")), b"NOT (SEEN)"),
        (Size(larger=10), b"LARGER 10"),
        (Size(larger=10, smaller=20), b"LARGER 10 SMALLER 20"),
        (Contains(Field.SUBJECT, "tax return"), b'SUBJECT "tax" SUBJECT "return"'),
        (Contains(Field.FROM, "Anna <anna@example.org>"), b'FROM "Anna" FROM "anna@example.org"'),
        (MessageId("<a@b>"), b'HEADER "Message-ID" "<a@b>"'),
        (HeaderContains("X-List", ""), b'HEADER "X-List" ""'),
        (And((HasFlag("seen"), Size(smaller=5))), b"SEEN SMALLER 5"),
        (Or((HasFlag("seen"), HasFlag("flagged"))), b"OR (SEEN) (FLAGGED)"),
        (Not(And((HasFlag("seen"), Size(smaller=5)))), b"NOT (SEEN SMALLER 5)"),
        (
            Contains(Field.BODY, "für"),
            'OR (OR (OR (BODY für) (BODY "f&uuml;r")) (BODY "f&#252;r")) (BODY "f&#xfc;r")'.encode(),
        ),
    ],
)
def test_terms_become_keys(query: Query, key: bytes) -> None:
    assert written(query) == key


@pytest.mark.parametrize(
    "query",
    [
        All(),
        Not(Contains(Field.SUBJECT, "x")),
        Not(Received(since=datetime(2026, 1, 1, tzinfo=UTC))),
        Not(And((HasFlag("seen"), Contains(Field.TO, "x")))),
        HasAttachment(),
        Or((HasFlag("seen"), HasAttachment())),
        Contains(Field.SUBJECT, "  "),
        Size(larger=2**40),
    ],
)
def test_what_a_server_could_narrow_is_not_asked_of_it(query: Query) -> None:
    assert written(query) is None


def test_a_term_we_decide_ourselves_does_not_hide_the_others() -> None:
    assert written(And((HasAttachment(), HasFlag("seen"), Not(Contains(Field.CC, "x"))))) == b"SEEN"


def test_below_a_not_all_terms_must_be_of_the_kinds_asked_for() -> None:
    query = Not(And((HasFlag("seen"), Size(smaller=5))))
    assert written(query, frozenset({Kind.FLAG})) is None
    assert written(And((query, HasFlag("flagged"))), frozenset({Kind.FLAG})) == b"FLAGGED"


def test_texts_are_left_out_where_the_server_is_not_to_decide_them() -> None:
    assert written(And((Contains(Field.SUBJECT, "x"), HasFlag("seen"))), CHEAP) == b"SEEN"


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_dates_are_asked_for_a_day_wider_whatever_the_zone(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    key = criteria.superset(
        Received(datetime(2026, 3, 10, 0, 30, tzinfo=zone), datetime(2026, 3, 12, 23, tzinfo=zone)), CHEAP
    )
    assert key is not None
    _, since, _, before = key
    assert isinstance(since, date)
    assert isinstance(before, date)
    # A server may be anywhere from UTC-12 to UTC+14 and compares dates without time.
    for server in range(-12, 15):
        there = timezone(timedelta(hours=server))
        assert since <= datetime(2026, 3, 10, 0, 30, tzinfo=zone).astimezone(there).date()
        assert before > (datetime(2026, 3, 12, 23, tzinfo=zone) - timedelta(seconds=1)).astimezone(there).date()


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
def test_dates_at_the_ends_of_the_calendar_are_no_fault(moment: datetime) -> None:
    assert written(Received(since=moment)) is not None
    assert written(Received(before=moment)) is not None


def test_the_criteria_have_names_for_the_coverage() -> None:
    query = And((Contains(Field.SUBJECT, "x"), HasFlag("seen"), Not(Contains(Field.SUBJECT, "y")), All()))
    assert criteria.words_for(query, lambda leaf: criteria.kind_of(leaf) is Kind.HEADER) == ("subject",)
    assert criteria.words_for(query, lambda leaf: True) == ("subject", "flag seen")


def test_dates_that_bind_the_whole_query_are_found() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    query = And((Received(since=early), And((Received(early, late), HasFlag("seen"))), Or((Received(late), All()))))
    assert criteria.received_within(query) == Received(early, late)
    assert criteria.received_within(Not(Received(early))) == Received()
