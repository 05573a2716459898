"""Lists and searches: order, cursors, scope, the language, and what is told of coverage (P-53, N-3, A-61…A-63, J-06, J-08)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Role
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
from mcp_proton.services.asking.queries import parse

from .conftest import House

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", All()),
        ("hello", Contains(Field.TEXT, "hello")),
        ('"two words"', Contains(Field.TEXT, "two words")),
        ("from:anna subject:plan", And((Contains(Field.FROM, "anna"), Contains(Field.SUBJECT, "plan")))),
        ('subject:"annual report"', Contains(Field.SUBJECT, "annual report")),
        ("a OR b", Or((Contains(Field.TEXT, "a"), Contains(Field.TEXT, "b")))),
        ("-is:read", Not(HasFlag("seen"))),
        ("NOT from:x", Not(Contains(Field.FROM, "x"))),
        ("is:unread", Not(HasFlag("seen"))),
        ("has:attachment", HasAttachment()),
        ("larger:5M", Size(larger=5 * 1024 * 1024)),
        ("smaller:12k", Size(smaller=12 * 1024)),
        ("header:List-Id=news", HeaderContains("List-Id", "news")),
        ("message-id:<a@x>", MessageId("<a@x>")),
        ("well-known", Contains(Field.TEXT, "well-known")),
        ("http://x.example", Contains(Field.TEXT, "http://x.example")),
        (
            "a (b OR -c)",
            And(
                (
                    Contains(Field.TEXT, "a"),
                    Or((Contains(Field.TEXT, "b"), Not(Contains(Field.TEXT, "c")))),
                )
            ),
        ),
        ("since:2026-11-01", Received(since=datetime(2026, 11, 1, tzinfo=BERLIN))),
        (
            "on:2026-11-01",
            Received(since=datetime(2026, 11, 1, tzinfo=BERLIN), before=datetime(2026, 11, 2, tzinfo=BERLIN)),
        ),
        ("before:2026-11-01T10:00:00Z", Received(before=datetime(2026, 11, 1, 10, tzinfo=UTC))),
    ],
)
def test_a_query_means_what_a_person_would_mean(text: str, query: Query) -> None:
    """P-53; dates are read in the owner's zone."""
    assert parse(text, BERLIN) == query


@pytest.mark.parametrize(
    "text",
    [
        "from:",
        "(a",
        "a)",
        '"open',
        "since:soon",
        "larger:big",
        "is:odd",
        "has:money",
        "header:=x",
        "OR",
        "a OR",
        "-",
        "(",
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_an_example(text: str) -> None:
    try:
        parse(text, BERLIN)
    except Invalid as error:
        assert error.code in ("invalid_query", "invalid_arguments")
        assert error.next
    else:
        assert text == "-"


@given(st.text(alphabet='ab:()-"OR NOTis:from', max_size=60))
def test_any_text_is_a_query_or_one_of_our_errors(text: str) -> None:
    try:
        parse(text, BERLIN)
    except Invalid as error:
        assert error.message


async def test_a_list_is_newest_first_by_date_whatever_the_order_of_arrival(house: House) -> None:
    """A-63 bettered: by date received, not by UID."""
    for hours in (5, 1, 9, 3):
        house.receive(f"{hours} hours ago", hours_ago=hours, message_id=f"<{hours}@x>")
    told = await house.ask("messages_list")
    assert [one["subject"] for one in told["messages"]] == [f"{hours} hours ago" for hours in (1, 3, 5, 9)]
    assert "by date" in told["coverage"]["order"]


async def test_pages_neither_skip_nor_double_and_only_an_absent_cursor_ends(house: House) -> None:
    """A-61, J-67."""
    for number in range(23):
        house.receive(str(number), hours_ago=number, message_id=f"<{number}@x>")
    seen, cursor = [], None
    while True:
        told = await house.ask("messages_list", limit=5, cursor=cursor)
        seen += [one["subject"] for one in told["messages"]]
        cursor = told.get("cursor")
        if cursor is None:
            break
        house.receive("new", hours_ago=0, message_id=f"<new{len(seen)}@x>")
    assert seen == [str(number) for number in range(23)]


async def test_a_cursor_with_other_arguments_is_refused(house: House) -> None:
    """A-62, J-70."""
    for number in range(3):
        house.receive(str(number), message_id=f"<{number}@x>")
    cursor = (await house.ask("messages_list", limit=1))["cursor"]
    assert (await house.ask("messages_list", limit=1, unread=True, cursor=cursor))["code"] == "foreign_cursor"
    assert (await house.ask("messages_list", limit=2, cursor=cursor))["status"] == "ok"


async def test_a_cursor_into_a_rebuilt_mailbox_is_stale(house: House) -> None:
    for number in range(3):
        house.receive(str(number), message_id=f"<{number}@x>")
    cursor = (await house.ask("messages_list", limit=1))["cursor"]
    house.personal.rebuild("INBOX")
    told = await house.ask("messages_list", limit=1, cursor=cursor)
    assert (told["status"], told["code"]) == ("stale", "stale_cursor")


async def test_a_search_without_a_scope_looks_where_the_caller_may_and_not_in_trash_or_spam(house: House) -> None:
    house.personal.add_mailbox("Folders/Health")
    for place in ("INBOX", "Archive", "Trash", "Spam", "Folders/Health"):
        house.receive("needle", mailbox=place, message_id=f"<{place}@x>")
    house.rules(preset="reader", rules=[{"effect": "*", "verdict": "deny", "mailbox": "Folders/Health"}])
    told = await house.ask("messages_search", query="subject:needle")
    assert {one["mailbox"] for one in told["messages"]} == {"INBOX", "Archive"}
    assert {one["mailbox"] for one in told["coverage"]["mailboxes"]} >= {"INBOX", "Archive"}


async def test_all_mail_is_searched_at_once_but_not_when_it_would_show_a_closed_mailbox(house: House) -> None:
    house.personal.add_mailbox("All Mail", Role.ALL)
    house.personal.add_mailbox("Folders/Health")
    house.receive("needle", mailbox="All Mail")
    told = await house.ask("messages_search", query="subject:needle")
    assert [one["mailbox"] for one in told["coverage"]["mailboxes"]] == ["All Mail"]
    house.rules(preset="reader", rules=[{"effect": "*", "verdict": "deny", "mailbox": "Folders/Health"}])
    told = await house.ask("messages_search", query="subject:needle")
    assert "All Mail" not in [one["mailbox"] for one in told["coverage"]["mailboxes"]]


@pytest.mark.parametrize("reference", ["inbox", "INBOX", "Inbox", "Archive", "archive", "trash", "spam"])
async def test_a_mailbox_is_named_by_role_or_path(house: House, reference: str) -> None:
    assert (await house.ask("messages_list", mailbox=reference))["status"] == "ok"


async def test_an_unknown_mailbox_is_not_found_and_the_answer_says_where_names_are(house: House) -> None:
    told = await house.ask("messages_list", mailbox="Folders/None")
    assert told["status"] == "not_found"
    assert "mailboxes_list" in told["next"]


async def test_sent_mail_is_listed_by_recipient(house: House) -> None:
    house.receive("Out", mailbox="Sent", sender="me@example.org", to="Bo <bo@example.org>")
    (one,) = (await house.ask("messages_list", mailbox="sent"))["messages"]
    assert one["to"] == "Bo <bo@example.org>"
    assert "from" not in one


async def test_a_page_of_25_costs_at_most_two_thousand_tokens(house: House) -> None:
    """N-11."""
    import json

    from mcp_proton.services.presenting.budget import tokens

    for number in range(25):
        house.receive(f"Re: the quarterly report and other things {number}", message_id=f"<{number}@x>")
    assert tokens(json.dumps(await house.ask("messages_list"))) < 2600
