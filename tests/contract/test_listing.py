"""The contract: lists by date (P-52, N-10)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Invalid, NotFound, Stale
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import All, HasFlag
from tests.contract.letters import letter
from tests.contract.worlds import DAY, Mail, all_pages, box, folder, newest

if TYPE_CHECKING:
    from tests.contract.worlds import World


def numbered(count: int, *, first: int = 0) -> list[Mail]:
    """Message n was received n minutes after the first, whatever the order of arrival."""
    return [Mail(letter(f"number {n}", number=n), DAY + timedelta(minutes=n)) for n in range(first, first + count)]


def subjects(count: int, *, first: int = 0) -> list[str]:
    return [f"number {n}" for n in range(first, first + count)]


@pytest.mark.parametrize("arrival", ["oldest first", "newest first", "mixed"])
async def test_the_newest_come_first_by_date_whatever_the_order_of_arrival(world: World, arrival: str) -> None:
    mails = numbered(30)
    shuffled = {"oldest first": mails, "newest first": mails[::-1], "mixed": mails[::3] + mails[1::3] + mails[2::3]}
    await world.put(*shuffled[arrival])
    assert [row.subject for row in await newest(world, 10)] == subjects(30)[:-11:-1]


async def test_pages_neither_skip_nor_double(world: World) -> None:
    mails = numbered(31)
    await world.put(*mails[10:], *mails[:10])
    rows = await all_pages(world, await box(world), 7)
    assert [row.subject for row in rows] == subjects(31)[::-1]


async def test_oldest_first_is_the_other_way_round(world: World) -> None:
    mails = numbered(12)
    await world.put(*mails[5:], *mails[:5])
    rows = await all_pages(world, await box(world), 5, Order.OLDEST)
    assert [row.subject for row in rows] == subjects(12)


async def test_messages_of_one_second_are_all_shown_once(world: World) -> None:
    await world.put(*[Mail(letter(f"number {n}", number=n)) for n in range(11)])
    rows = await all_pages(world, await box(world), 3)
    assert sorted(row.subject for row in rows) == sorted(subjects(11))


async def test_new_mail_between_two_pages_shifts_nothing(world: World) -> None:
    await world.put(*numbered(20))
    inbox = await box(world)
    first = await world.backend.search([inbox], All(), Page(8))
    await world.put(*numbered(3, first=20), Mail(letter("restored"), DAY + timedelta(minutes=11, seconds=30)))
    second = await world.backend.search([inbox], All(), Page(8, continuation=first.continuation))
    shown = [row.subject for row in (*first.rows, *second.rows) if row.subject != "restored"]
    assert shown == subjects(20)[::-1][: len(shown)]
    assert len(shown) >= 15
    assert (await newest(world, 1))[0].subject == "number 22"


async def test_an_empty_mailbox_is_an_empty_page(world: World) -> None:
    found = await world.backend.search([await box(world, Role.SENT)], All(), Page(5))
    assert (list(found.rows), found.continuation, found.coverage.complete) == ([], None, True)


async def test_several_mailboxes_are_one_list_by_date(world: World) -> None:
    await world.put(*numbered(4))
    await world.put_into_folder(Mail(letter("in between"), DAY + timedelta(minutes=1, seconds=30)))
    scope = [await box(world), await folder(world)]
    first = await world.backend.search(scope, All(), Page(3))
    second = await world.backend.search(scope, All(), Page(3, continuation=first.continuation))
    assert [row.subject for row in first.rows] == ["number 3", "number 2", "in between"]
    assert [row.subject for row in second.rows] == ["number 1", "number 0"]
    assert second.continuation is None


async def test_rows_tell_what_a_list_needs(world: World) -> None:
    raw = letter(
        "=?utf-8?q?Gr=C3=BC=C3=9Fe?=", sender="=?iso-8859-1?q?J=FCrgen?= <j@example.org>", extra="Cc: c@example.org\n"
    )
    await world.put(Mail(raw, DAY, frozenset({"seen", "flagged"})))
    (row,) = await newest(world)
    assert row.subject == "Grüße"
    assert [(one.name, one.email) for one in row.sender] == [("Jürgen", "j@example.org")]
    assert [one.email for one in row.cc] == ["c@example.org"]
    assert row.received == row.date == DAY
    assert row.flags >= {"seen", "flagged"}
    assert row.message_id == "<m0@example.org>"
    assert row.size > 0


async def test_a_mailbox_that_is_not_there_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        await world.backend.search([Mailbox("me", "Nowhere", "Nowhere", Role.FOLDER)], All(), Page(5))


async def test_a_cursor_of_a_rebuilt_mailbox_is_stale(world: World) -> None:
    for number in range(3):
        await world.put_into_folder(Mail(letter(f"number {number}", number=number), DAY + timedelta(minutes=number)))
    scope = [await folder(world)]
    first = await world.backend.search(scope, All(), Page(1))
    await world.rebuild_folder(Mail(letter("another")))
    with pytest.raises(Stale) as refusal:
        await world.backend.search(scope, All(), Page(1, continuation=first.continuation))
    assert refusal.value.code == "stale_cursor"


@pytest.mark.parametrize("cursor", ["", "x", "~", "~~", "aaaaaaaa~~bbbbbb.1.1_", "\u00fc", "a" * 70_000])
async def test_a_text_that_is_no_cursor_is_refused(world: World, cursor: str) -> None:
    with pytest.raises((Invalid, Stale)):
        await world.backend.search([await box(world)], All(), Page(5, continuation=cursor))


async def test_a_cursor_is_not_good_for_another_query(world: World) -> None:
    await world.put(*numbered(5))
    inbox = await box(world)
    first = await world.backend.search([inbox], All(), Page(2))
    with pytest.raises((Invalid, Stale)):
        await world.backend.search([inbox], HasFlag("seen"), Page(2, continuation=first.continuation))
