"""One mailbox within a list or a search: what of it is still to be looked at, what was found, and the page of them all.

Every mailbox reports its hits in order and a *frontier*: up to there nothing is missing. A page is the merge of all
mailboxes up to the frontier that is nearest, so it never shows an older message before a newer one that is not read yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Coverage, Covered, Order
from mcp_proton.imap.finding import cursors, windows
from mcp_proton.imap.finding.cursors import Cursor, Mark
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.imap.finding.dates import Place

MOST_TOLD = 40
"""ranges of UIDs told in an answer; what is more scattered is told by its reason only"""

NOT_PROVED = (
    "the mail server decided on text, and nothing shows that it finds every spelling of it: "
    "narrow it by date or mailbox to have every message looked at"
)


@dataclass(slots=True)
class Target:
    """A mailbox as the search sees it. `upper`: UIDs above came later and are not part of it."""

    mailbox: Mailbox
    uidvalidity: int
    upper: int
    exists: int
    done: UidSet = windows.NOTHING
    last: Place | None = None
    """where the page before ended, as a place in this mailbox"""


@dataclass(slots=True)
class Hit:
    """A message that matches, with what was fetched of it on the way, if anything."""

    place: Place
    row: Envelope | None = None


@dataclass(slots=True)
class Findings:
    """What looking at one mailbox gave.

    `exact`: hits are in the order of dates and nothing is missing up to `frontier` (None: at all). Otherwise `looked_at`
    are the UIDs that need no second look, and the order holds only among them.
    """

    target: Target
    hits: list[Hit] = field(default_factory=list)
    exact: bool = True
    frontier: Place | None = None
    looked_at: UidSet = windows.NOTHING
    covered: UidSet = windows.NOTHING
    """UIDs an answer can be relied upon for"""
    seen: int = 0
    """how many messages were looked at"""
    why: str | None = None
    by_server: tuple[str, ...] = ()
    by_us: tuple[str, ...] = ()
    trusted: bool = True
    """False where the server decided on text and nothing shows that it finds all"""


@dataclass(slots=True)
class Selected:
    """The rows of a page, each with the mailbox it is of, and how to go on."""

    hits: list[tuple[Target, Hit]]
    cursor: Cursor | None
    coverage: Coverage
    relied_in_vain: bool = False
    """Whether nothing was found, and a server was relied upon that may have missed it."""


def page(found: Sequence[Findings], order: Order, limit: int, last: tuple[Place, str] | None) -> Selected:
    """Merge what several mailboxes gave into one page of at most `limit` rows."""
    exact = all(one.exact for one in found)
    merged = [(rank(hit.place, order), one.target, hit) for one in found for hit in one.hits]
    if len(found) > 1:  # one mailbox's are in order
        merged.sort(key=lambda entry: (entry[0], entry[1].mailbox.tag))
    edge = _edge(found, order) if exact else None
    ready = merged if edge is None else [entry for entry in merged if entry[0] <= edge]
    chosen = [(target, hit) for _, target, hit in ready[:limit]]
    if len(ready) > limit:
        edge = None  # the page ends before it
    finished = exact and edge is None and len(merged) <= limit
    cursor = None if finished else _cursor(found, chosen, order, edge, last, exact=exact)
    in_vain = finished and not chosen and not all(one.trusted for one in found)
    return Selected(chosen, cursor, _coverage(found, order, exact=exact), in_vain)


def rank(place: Place, order: Order) -> Place:
    """A place as a number pair that ascends in the order wanted. Applied twice it gives the place back."""
    return (-place[0], -place[1]) if order is Order.NEWEST else place


def _edge(found: Sequence[Findings], order: Order) -> Place | None:
    return min((rank(one.frontier, order) for one in found if one.frontier is not None), default=None)


def _cursor(
    found: Sequence[Findings],
    chosen: Sequence[tuple[Target, Hit]],
    order: Order,
    edge: Place | None,
    last: tuple[Place, str] | None,
    *,
    exact: bool,
) -> Cursor:
    marks = {one.target.mailbox.tag: _mark(one, chosen, exact=exact) for one in found}
    if not exact:
        return Cursor(last, marks)
    if edge is None:
        owner, hit = chosen[-1]
        return Cursor((hit.place, owner.mailbox.tag), marks)
    return Cursor((rank(edge, order), _LAST_TAG), marks)


def _mark(one: Findings, chosen: Sequence[tuple[Target, Hit]], *, exact: bool) -> Mark:
    target, done = one.target, one.target.done
    if not exact:
        shown = {hit.place[1] for owner, hit in chosen if owner is target}
        held = [hit.place[1] for hit in one.hits if hit.place[1] not in shown]
        done = windows.union(done, windows.without(one.looked_at, UidSet.of(held)), UidSet.of(shown))
    return Mark(target.uidvalidity, target.upper, done)


_LAST_TAG = "zzzzzz"
"""after every mailbox's tag: all of them were looked at up to this place"""


def _coverage(found: Sequence[Findings], order: Order, *, exact: bool) -> Coverage:
    reasons = list(dict.fromkeys(one.why for one in found if one.why))
    if not exact:
        reasons.append("the order is provisional until the dates of all messages are read; go on with the cursor")
    if not all(one.trusted for one in found):
        reasons.append(NOT_PROVED)
    words = f"{order.value} first, by date received"
    return Coverage(
        complete=not reasons,
        order=words if exact else f"provisional: {words}",
        mailboxes=tuple(_covered(one) for one in found),
        why="; ".join(reasons) or None,
        by_server=tuple(dict.fromkeys(word for one in found for word in one.by_server)),
        by_us=tuple(dict.fromkeys(word for one in found for word in one.by_us)),
    )


def _covered(one: Findings) -> Covered:
    ranges = one.covered.text().decode("ascii") if len(one.covered.ranges) <= MOST_TOLD else ""
    return Covered(one.target.mailbox.path, min(one.seen, one.target.exists), one.target.exists, ranges)


def aim(mailbox: Mailbox, uidvalidity: int, uidnext: int, exists: int, cursor: Cursor | None, order: Order) -> Target:
    """The target of a mailbox as it is now, going on where a cursor stands. Raises `Stale` when it was rebuilt."""
    if cursor is None:
        return Target(mailbox, uidvalidity, max(uidnext - 1, 0), exists)
    mark = cursor.marks.get(mailbox.tag)
    if mark is None:
        raise windows.no_cursor()
    if mark.uidvalidity != uidvalidity:
        raise cursors.rebuilt(mailbox)
    return Target(mailbox, uidvalidity, mark.upper, exists, mark.done, _own_place(cursor.last, mailbox, order))


def _own_place(last: tuple[Place, str] | None, mailbox: Mailbox, order: Order) -> Place | None:
    """The last row's place as one of this mailbox: what has the same date and UID here may still be to come."""
    if last is None:
        return None
    (date, uid), tag = last
    if mailbox.tag <= tag:
        return date, uid
    # This mailbox's row of exactly that place comes after the last one, so it is not passed yet.
    return (date, uid + 1) if order is Order.NEWEST else (date, uid - 1) if uid else (date, 0)
