"""Lists and searches over one or more mailboxes of an account: a page by date, what it covers, and how to go on.

A list is a search for everything. Each mailbox is looked at by itself, one after another; the page is their merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.ports import Found, Order
from mcp_proton.domain.query import All
from mcp_proton.imap.errors import Rebuilt, Rejected
from mcp_proton.imap.finding import criteria, cursors, listing, probing, windows
from mcp_proton.imap.finding.answers import Answers
from mcp_proton.imap.finding.contents import Contents
from mcp_proton.imap.finding.criteria import CHEAP, LASTING, Kind
from mcp_proton.imap.finding.headlines import HeaderReader
from mcp_proton.imap.finding.hunting import Hunt, Wanted, now
from mcp_proton.imap.finding.judging import Judge
from mcp_proton.imap.finding.pagelines import PageReader
from mcp_proton.imap.finding.probing import Sight
from mcp_proton.imap.finding.summaries import Library
from mcp_proton.imap.finding.targets import Findings, Selected, aim, page
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.domain.ports import Page
    from mcp_proton.domain.query import Query
    from mcp_proton.imap.finding.cursors import Cursor
    from mcp_proton.imap.finding.dates import DateIndex
    from mcp_proton.imap.finding.indexing import DateIndexes
    from mcp_proton.imap.finding.targets import Hit, Target
    from mcp_proton.imap.protocol.box import Box

MOST_ROWS = 5_000
NOT_IN_ORDER = "the dates of all messages are still being read; go on with the cursor"


@dataclass(frozen=True, slots=True)
class Habits:
    """What a kind of server is asked, and what is decided here."""

    asked: frozenset[Kind] = CHEAP
    """kinds of terms given to SEARCH whenever they are part of a query"""
    asked_beside_text: frozenset[Kind] = CHEAP
    """the same for a query about text, where headers are read anyway"""
    bodies_by_server: bool = True
    """whether the server decides on body text where it is found to read it as people do"""
    most_bodies: int = 200
    """bodies of at most this many messages are read here, which is exact whatever the server can"""
    most_headers: int = 30_000
    """headers of at most this many messages are read for a search; beyond, the server decides on headers too"""

    @property
    def by_us(self) -> Habits:
        """The same, but that no server decides on text."""
        return replace(self, bodies_by_server=False)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is looked for, from where on, and who may decide it."""

    query: Query
    cursor: Cursor | None
    habits: Habits


@dataclass(slots=True)
class _Plan:
    """Who decides what in one mailbox."""

    asked: frozenset[Kind]
    trusted: bool = True


class Searches:
    """The lists and searches of one account."""

    def __init__(
        self,
        open_box: Callable[[Mailbox], AbstractAsyncContextManager[Box]],
        indexes: DateIndexes,
        habits: Habits,
        library: Library | None = None,
    ) -> None:
        self._open_box = open_box
        self._indexes = indexes
        self._habits = habits
        self._library = library or Library()
        self._reader = HeaderReader()
        self._pages = PageReader()
        self._answers = Answers()
        self._sight: Sight | None = None

    async def search(self, scope: Sequence[Mailbox], query: Query, page_wanted: Page) -> Found:
        """The port's `search`."""
        if not 1 <= page_wanted.limit <= MOST_ROWS:
            raise Invalid(f"a page holds 1 to {MOST_ROWS} messages", code="invalid_arguments")
        asking = partial(cursors.asking, scope, query, page_wanted.order)
        habits, asked, after = self._habits, asking(), page_wanted.continuation
        if after is not None and after.startswith(by_us := asking(by_us=True)):
            habits, asked = habits.by_us, by_us
        question = _Question(query, None if after is None else cursors.read(after, asked), habits)
        deadline = now() + page_wanted.budget
        chosen = await self._page(scope, question, page_wanted, deadline)
        if after is None and chosen.relied_in_vain:
            question, asked = replace(question, habits=habits.by_us), asking(by_us=True)
            chosen = await self._page(scope, question, page_wanted, deadline)
        rows = await self._rows(chosen.hits)
        after = None if chosen.cursor is None else chosen.cursor.write(asked)
        return Found(rows, chosen.coverage, after)

    async def _page(
        self, scope: Sequence[Mailbox], question: _Question, page_wanted: Page, deadline: float
    ) -> Selected:
        found = []
        opened = [mailbox for mailbox in scope if mailbox.selectable]
        for number, mailbox in enumerate(opened):
            # What one mailbox leaves of the time is shared by those after it.
            left = max(deadline - now(), 0) / (len(opened) - number)
            wanted = Wanted(page_wanted.order, page_wanted.limit, now(), now() + left)
            found.append(await self._look_at(mailbox, question, wanted))
        last = None if question.cursor is None else question.cursor.last
        return page(found, page_wanted.order, page_wanted.limit, last)

    async def _look_at(self, mailbox: Mailbox, question: _Question, wanted: Wanted) -> Findings:
        try:
            return await self._once(mailbox, question, wanted)
        except Rebuilt:
            if question.cursor is not None:
                raise cursors.rebuilt(mailbox) from None
            return await self._once(mailbox, question, wanted)

    async def _once(self, mailbox: Mailbox, question: _Question, wanted: Wanted) -> Findings:
        cursor = question.cursor
        async with self._open_box(mailbox) as box:
            target = await _target(mailbox, box, cursor, wanted.order)
            index = await self._indexes.current(mailbox, box)
            if not isinstance(question.query, All):
                return await self._hunt(target, box, index, question, wanted)
            if index is not None:
                return await listing.by_index(target, box, index, wanted.order, wanted.limit, self._pages)
            if cursor is None:
                found, index = await listing.at_both_ends(target, box, wanted.order, wanted.limit, self._pages)
                if index is None:
                    self._indexes.begin(mailbox, box.uidvalidity)
                else:
                    self._indexes.learn(mailbox, index)
                return found
        return await self._wait(target, wanted)

    async def _wait(self, target: Target, wanted: Wanted) -> Findings:
        """A page that cannot be had without the index: wait for it, or say that it is not ready."""
        mailbox = target.mailbox
        await self._indexes.wait(mailbox, target.uidvalidity, wanted.deadline - now())
        async with self._open_box(mailbox) as box:
            index = await self._indexes.current(mailbox, box)
            if box.uidvalidity != target.uidvalidity:
                raise cursors.rebuilt(mailbox)
            if index is not None:
                return await listing.by_index(target, box, index, wanted.order, wanted.limit, self._pages)
        return Findings(target, exact=False, why=NOT_IN_ORDER, by_us=("order",))

    # --- searching -------------------------------------------------------------------------------------------------

    async def _hunt(
        self, target: Target, box: Box, index: DateIndex | None, question: _Question, wanted: Wanted
    ) -> Findings:
        mailbox, query = target.mailbox, question.query
        plan = await self._plan(target, box, question)
        flagged = await self._flagged(box, query)
        candidates, unsearched = await self._candidates(target, box, index, query, plan, wanted)
        contents = Contents(mailbox, query)
        book = self._library.book(mailbox.tag, box.uidvalidity)
        hunt = Hunt(target, box, book, index, Judge(query, flagged), contents, self._reader, wanted)
        found = await hunt.run(candidates, unsearched)
        self._library.shrink()
        if index is None and not found.exact:
            self._indexes.begin(mailbox, box.uidvalidity)
        _tell(found, plan, query, contents)
        return found

    async def _plan(self, target: Target, box: Box, question: _Question) -> _Plan:
        """Which kinds of terms the server is asked about."""
        query, habits = question.query, question.habits
        kinds = criteria.kinds_of(query)
        if not kinds & {Kind.HEADER, Kind.BODY}:
            return _Plan(habits.asked)
        asked, trusted = habits.asked_beside_text, True
        if Kind.BODY in kinds and habits.bodies_by_server and box.exists > habits.most_bodies:
            sight = await self._server_sight(target.mailbox, box)
            if sight is Sight.PIECES:
                asked |= {Kind.BODY}
            elif sight is not Sight.OCTETS and await self._are_many(box, query):
                asked, trusted = asked | {Kind.BODY}, False
        unread = box.exists - len(self._library.book(target.mailbox.tag, box.uidvalidity))
        if Kind.HEADER in kinds and habits.bodies_by_server and unread > habits.most_headers:
            asked, trusted = asked | {Kind.HEADER}, False
        return _Plan(asked, trusted)

    async def _are_many(self, box: Box, query: Query) -> bool:
        """Whether more bodies would have to be read here than is done for one search, by all that is known without reading."""
        key = criteria.superset(query, CHEAP)
        return key is None or len(await box.search(*key)) > self._habits.most_bodies

    async def _server_sight(self, mailbox: Mailbox, box: Box) -> Sight | None:
        """The result of the self-check; made once an account, and again while there was nothing to try."""
        if self._sight is None and box.exists:
            self._sight = await probing.sight(mailbox, box, await box.search())
        return self._sight

    async def _flagged(self, box: Box, query: Query) -> dict[str, set[int]]:
        names = sorted(criteria.flags_of(query))
        answers = await box.pipeline([box.searching(*criteria.flag_key(name)) for name in names])
        return {name: set(_numbers(answer)) for name, answer in zip(names, answers, strict=True)}

    async def _candidates(
        self, target: Target, box: Box, index: DateIndex | None, query: Query, plan: _Plan, wanted: Wanted
    ) -> tuple[Sequence[int], UidSet]:
        """UIDs that may match, ascending; and those that were not searched yet."""
        asked = plan.asked
        if index is not None:
            asked -= {Kind.DATE}
        momentary = criteria.superset(query, asked - LASTING)
        lasting = criteria.superset(query, asked & LASTING)
        unsearched = windows.NOTHING
        found: Sequence[int] | array[int]
        if lasting is not None and target.upper:
            answer = await self._answers.search(target.mailbox.tag, box, lasting, target.upper, wanted.share(0.5))
            found = answer.found
            if answer.lowest > 1:
                unsearched = UidSet.window(1, answer.lowest - 1)
        elif momentary is not None:
            found = await box.search(*momentary)
        elif index is not None:
            found = index.uids
        else:
            book = self._library.book(target.mailbox.tag, box.uidvalidity)
            kept = book.everything(target.upper, box.exists)
            found = kept if kept is not None else box.uids or await box.search()
        if lasting is not None and momentary is not None:
            among = set(await box.search(*momentary))
            found = [uid for uid in found if uid in among]
        return _within(found, index, query), unsearched

    # --- rows ------------------------------------------------------------------------------------------------------

    async def _rows(self, chosen: Sequence[tuple[Target, Hit]]) -> list[Envelope]:
        """Envelopes of a page. What was expunged since it was found is left out."""
        rows = {(target.mailbox.tag, hit.place[1]): hit.row for target, hit in chosen if hit.row is not None}
        for target in {id(target): target for target, _ in chosen}.values():
            mailbox = target.mailbox
            lacking = [hit.place[1] for owner, hit in chosen if owner is target and hit.row is None]
            if not lacking:
                continue
            async with self._open_box(mailbox) as box:
                if box.uidvalidity != target.uidvalidity:
                    raise cursors.rebuilt(mailbox)
                fetched = await self._pages.fetch(mailbox, box, lacking)
            rows |= {(mailbox.tag, uid): row for uid, row in fetched.items()}
        keys = [(target.mailbox.tag, hit.place[1]) for target, hit in chosen]
        return [rows[key] for key in keys if key in rows]


async def _target(mailbox: Mailbox, box: Box, cursor: Cursor | None, order: Order) -> Target:
    uidnext = box.uidnext
    if not uidnext:
        uidnext = max(await box.search(), default=0) + 1
    return aim(mailbox, box.uidvalidity, uidnext, box.exists, cursor, order)


def _numbers(answer: array[int] | Rejected) -> array[int]:
    if isinstance(answer, Rejected):
        raise answer
    return answer


def _within(found: Sequence[int], index: DateIndex | None, query: Query) -> Sequence[int]:
    """Candidates that the index does not rule out by their date."""
    dates = criteria.received_within(query)
    if index is None or dates == criteria.received_within(All()):
        return found
    since = 0.0 if dates.since is None else dates.since.timestamp()
    before = float("inf") if dates.before is None else dates.before.timestamp()

    def may_fit(date: int | None) -> bool:
        return not date or since <= date < before  # without a date nothing is ruled out

    return [uid for uid in found if may_fit(index.date_of(uid))]


def _tell(found: Findings, plan: _Plan, query: Query, contents: Contents) -> None:
    """Say who decided what. Text that the server looked for is looked at here as well."""
    found.by_server = criteria.words_for(query, lambda leaf: criteria.kind_of(leaf) in plan.asked)
    ours = criteria.words_for(query, lambda leaf: criteria.kind_of(leaf) not in plan.asked & CHEAP)
    found.by_us = tuple(dict.fromkeys((*ours, "order")))
    found.trusted = plan.trusted
    if contents.cut:
        beginning = f"of {contents.cut} large messages only the beginning of the text was searched"
        found.why = "; ".join(filter(None, (found.why, beginning)))
