"""The page of several mailboxes: merged by date, and never beyond what is known of each."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import Order
from mcp_proton.imap.finding.dates import Place
from mcp_proton.imap.finding.targets import Findings, Hit, Target, aim, page, rank
from mcp_proton.imap.protocol.uids import UidSet

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

NAMES = ("INBOX", "Sent", "Work")
BOXES = [Mailbox("me", name, name, Role.FOLDER) for name in NAMES]
PLACES = st.sets(st.tuples(st.integers(1, 9), st.integers(1, 30)), max_size=12)


@UNHURRIED
@given(st.lists(PLACES, min_size=1, max_size=3), st.integers(1, 5), st.sampled_from(list(Order)))
def test_pages_of_several_mailboxes_show_every_message_once_and_in_order(
    mailboxes: list[set[Place]], limit: int, order: Order
) -> None:
    cursor = None
    shown: list[tuple[str, Place]] = []
    for _ in range(100):
        found = []
        for box, places in zip(BOXES, mailboxes, strict=False):
            target = aim(box, 1, 31, len(places), cursor, order)
            left = sorted((one for one in places if _is_left(one, target, order)), key=lambda one: rank(one, order))
            found.append(Findings(target, [Hit(one) for one in left[: limit + 1]]))
        selected = page(found, order, limit, None if cursor is None else cursor.last)
        shown += [(target.mailbox.path, hit.place) for target, hit in selected.hits]
        cursor = selected.cursor
        if cursor is None:
            break
    expected = [(box.path, one) for box, places in zip(BOXES, mailboxes, strict=False) for one in places]
    assert sorted(shown) == sorted(expected)
    assert [rank(place, order)[0] for _, place in shown] == sorted(rank(place, order)[0] for _, place in shown)


def _is_left(place: Place, target: Target, order: Order) -> bool:
    return target.last is None or rank(place, order) > rank(target.last, order)


def findings(box: Mailbox, *dates: int, frontier: int | None = None, exact: bool = True) -> Findings:
    target = Target(box, 1, 100, len(dates))
    edge = None if frontier is None else (frontier, 1)
    return Findings(target, [Hit((date, 1)) for date in dates], exact, edge, UidSet.of([1]))


def test_a_message_older_than_what_another_mailbox_has_read_waits() -> None:
    selected = page([findings(BOXES[0], 9, 5), findings(BOXES[1], 8, frontier=7)], Order.NEWEST, 10, None)
    assert [hit.place[0] for _, hit in selected.hits] == [9, 8]
    assert selected.cursor is not None
    assert selected.cursor.last == ((7, 1), "zzzzzz")


def test_a_provisional_page_keeps_what_it_showed_and_not_what_it_held_back() -> None:
    selected = page([findings(BOXES[0], 9, exact=False)], Order.NEWEST, 10, None)
    assert not selected.coverage.complete
    assert selected.cursor is not None
    assert 1 in selected.cursor.marks[BOXES[0].tag].done
    held = page([findings(BOXES[0], 9, exact=False), findings(BOXES[1], 8, exact=False)], Order.NEWEST, 1, None)
    assert held.cursor is not None
    assert 1 not in held.cursor.marks[BOXES[1].tag].done


def test_a_full_page_is_complete_up_to_its_last_row() -> None:
    selected = page([findings(BOXES[0], 9, 8, 7)], Order.NEWEST, 2, None)
    assert selected.coverage.complete
    assert selected.cursor is not None
    assert selected.cursor.last == ((8, 1), BOXES[0].tag)
