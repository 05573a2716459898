"""Lists and searches over one or more mailboxes of an account, by date: a page, what it covers, and how to go on.

Each page is one Email/query with the Email/get of what it found, in one request. What the server cannot decide as people
mean it is decided here, window by window, so that an answer is complete up to its last row.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.domain.ports import Coverage, Covered, Found, Order
from mcp_proton.imap.finding import criteria
from mcp_proton.imap.finding.cursors import asking
from mcp_proton.jmap import envelopes, keys
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.finding import cursors, filters, windows, words
from mcp_proton.jmap.finding.contents import Contents
from mcp_proton.jmap.finding.cursors import Cursor
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call, Ref, sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.domain.ports import Page
    from mcp_proton.domain.query import Query
    from mcp_proton.jmap.finding.windows import Window
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

MOST_ROWS = 5_000
FIRST_WINDOW = 50
"""candidates looked at first, where it is not known how many of them match; then ever more"""
SORT = "receivedAt"


@dataclass(slots=True)
class _Walk:
    """A search under way. `rows` are what was found, `place` the last message dealt with."""

    scope: Sequence[Mailbox]
    query: Query
    page: Page
    cursor: Cursor | None
    rows: list[Envelope] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0
    ended: bool = False
    by_words: bool = False
    """whether the server's index chose the candidates"""
    index_failed: bool = False
    """whether it found nothing, so that all are looked through after all"""

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= self.page.limit

    @property
    def found_nothing(self) -> bool:
        """Whether the index was asked, and nothing of what it found is what was meant."""
        return self.by_words and self.ended and not self.rows and self.page.continuation is None

    def start_over(self) -> None:
        """Look through everything: a piece of a word, which no index of words finds, must not be told as not there."""
        self.by_words, self.index_failed = False, True
        self.ended, self.cursor, self.looked_at = False, None, 0


class Searches:
    """The lists and searches of one account."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_index = True
        """until the server says that it has none"""

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """The port's `search`."""
        if not 1 <= page.limit <= MOST_ROWS:
            raise Invalid(f"a page holds 1 to {MOST_ROWS} messages", code="invalid_arguments")
        opened = [box for box in scope if box.selectable]
        asked = asking(scope, query, page.order)
        by_words = page.continuation is not None and page.continuation.startswith(_worded(asked))
        asked = _worded(asked) if by_words else asked
        cursor = None if page.continuation is None else cursors.read(page.continuation, asked)
        walk = _Walk(opened, query, page, cursor, by_words=by_words)
        contents = Contents(self._client, query)
        deadline = time.monotonic() + page.budget
        size = await self._first_window(walk)
        while opened and not walk.ended and not walk.is_full:
            await self._step(walk, contents, size)
            size *= 2
            if walk.found_nothing:
                walk.start_over()
            elif time.monotonic() > deadline:
                break
        return _found(walk, contents, _worded(asked) if walk.by_words and not by_words else asked)

    async def _first_window(self, walk: _Walk) -> int:
        if filters.is_exact(walk.query):
            return walk.page.limit + 1
        return max(walk.page.limit + 1, FIRST_WINDOW)

    async def _step(self, walk: _Walk, contents: Contents, size: int) -> None:
        """One window of candidates: those that match become rows."""
        size = min(size, (await self._client.limits()).objects_in_get)
        by_anchor = walk.cursor is not None
        try:
            window, emails = await self._window(walk, contents, size, by_anchor=by_anchor)
        except MethodFailed as error:
            if error.kind != "anchorNotFound" or walk.cursor is None:
                raise
            window, emails = await self._window(walk, contents, size, by_anchor=False)
            by_anchor = False
        if walk.cursor is None and not walk.by_words and not walk.index_failed:
            window, emails = await self._by_words(walk, contents, window, emails, size)
        walk.looked_at = window.position + len(window.ids)
        fresh = [email for email in emails if by_anchor or not _is_passed(walk, email)]
        matching = fresh if filters.is_exact(walk.query) else await contents.matching(walk.scope[0], fresh)
        before = walk.cursor
        dealt_with = _add(walk, matching, emails)
        walk.ended = dealt_with and not window.has_more
        if not walk.ended and not walk.is_full and walk.cursor == before:
            raise windows.InvalidUpstream("the mail server gives the same page again and again")

    async def _by_words(
        self, walk: _Walk, contents: Contents, window: Window, emails: list[Object], size: int
    ) -> tuple[Window, list[Object]]:
        """The first window, of what the server's index finds where that spares looking through too many."""
        total = window.total or 0
        if total <= words.SCANNED or not self._has_index or words.condition(walk.query) is None:
            return window, emails
        walk.by_words = True
        try:
            chosen, found = await self._window(walk, contents, size, by_anchor=False)
        except MethodFailed as error:
            if error.kind not in words.WITHOUT:
                raise
            self._has_index = error.kind == "invalidArguments"
        else:
            if chosen.total is not None and chosen.total < total:
                return chosen, found
        walk.by_words = False
        return window, emails

    async def _window(
        self, walk: _Walk, contents: Contents, size: int, *, by_anchor: bool
    ) -> tuple[Window, list[Object]]:
        ids = [box.id for box in walk.scope]
        cursor = walk.cursor
        condition = filters.superset(walk.query)
        if walk.by_words:
            condition = filters.joined(condition, words.condition(walk.query))
        if cursor is not None and not by_anchor:
            if not cursor.complete:
                raise cursors.gone()
            condition = filters.joined(condition, _beyond(cursor, walk.page.order))
        query: Object = {
            "filter": filters.within(ids, condition),
            "sort": [{"property": SORT, "isAscending": walk.page.order is Order.OLDEST}],
            "collapseThreads": False,
            "calculateTotal": True,
            "limit": size,
        }
        if cursor is not None and by_anchor:
            # The anchor itself too: it may have rows in other mailboxes that were not shown yet.
            query |= {"anchor": cursor.last, "anchorOffset": 0 if size > 1 else 1}
        totals, found, got = await self._client.ask(
            Call("Mailbox/get", {"ids": ids, "properties": ["id", "totalEmails"]}),
            Call("Email/query", query),
            Call("Email/get", {"#ids": Ref(1, "Email/query", "/ids").told, **contents.wanted}),
        )
        walk.totals = _totals(sure(totals))
        _check_scope(walk)
        window = windows.read(sure(found), size)
        return window, _in_order(window, sure(got))


def _add(walk: _Walk, matching: Sequence[Object], looked_at: Sequence[Object]) -> bool:
    """Rows for what matches, up to a full page. Whether all that was looked at is dealt with."""
    kept = {id(email) for email in matching}
    for email in looked_at:
        email_id = values.identifier(email["id"])
        done = walk.cursor.rows if walk.cursor is not None and walk.cursor.last == email_id else 0
        rows = _rows(walk.scope, email) if id(email) in kept else []
        for number, row in enumerate(rows[done:], done + 1):
            if walk.is_full:
                return False
            walk.cursor = _advanced(walk.cursor, email, number)
            walk.rows.append(row)
        if len(rows) <= done:
            walk.cursor = _advanced(walk.cursor, email, max(done, 1))
    return True


def _check_scope(walk: _Walk) -> None:
    for box in walk.scope:
        if box.id not in walk.totals:
            raise cursors.gone() if walk.page.continuation is not None else NotFound("there is no such mailbox")


def _totals(answer: Object) -> dict[str, int]:
    return {values.identifier(one.get("id")): values.number(one.get("totalEmails")) for one in values.listed(answer)}


def _in_order(window: Window, answer: Object) -> list[Object]:
    """The messages of a window, each once. What went meanwhile is left out."""
    by_id = {values.text(one.get("id")): one for one in values.listed(answer)}
    return [by_id[one] for one in window.ids if one in by_id]


def _rows(scope: Sequence[Mailbox], email: Object) -> list[Envelope]:
    """A row for each of the mailboxes it is in."""
    places = values.keys_of(email.get("mailboxIds"))
    return [envelopes.envelope(box, email) for box in scope if box.id in places]


def _second(email: Object) -> int:
    received = values.instant(email.get("receivedAt"))
    return 0 if received is None else max(0, int(received.timestamp()))


def _advanced(before: Cursor | None, email: Object, rows: int) -> Cursor:
    at, email_id = _second(email), values.identifier(email["id"])
    same = before.same_second if before is not None and before.at == at else frozenset[str]()
    kept = before is None or before.at != at or before.complete
    names = same | {cursors.name(email_id)}
    if len(names) > cursors.MOST_OF_A_SECOND:
        names, kept = frozenset(), False
    return Cursor(email_id, at, rows, names, complete=kept)


def _beyond(cursor: Cursor, order: Order) -> filters.Filter:
    """What comes after a message that is not there any more; its own second is looked at again."""
    at = datetime.fromtimestamp(cursor.at, UTC)
    if order is Order.OLDEST:
        return {"after": filters.date(at, up=False)}
    return {"before": filters.date(at + filters.SECOND, up=True)}


def _is_passed(walk: _Walk, email: Object) -> bool:
    """Whether it was shown already, or (where a server's `before` takes its instant in) comes before the place."""
    cursor = walk.cursor
    if cursor is None:
        return False
    at = _second(email)
    earlier = at > cursor.at if walk.page.order is Order.NEWEST else at < cursor.at
    return earlier or (at == cursor.at and cursor.passed(values.identifier(email["id"])))


def _found(walk: _Walk, contents: Contents, asked: str) -> Found:
    after = None if walk.ended or walk.cursor is None else walk.cursor.write(asked)
    whole = after is None
    covered = tuple(
        Covered(box.path, total if whole and not walk.by_words else min(walk.looked_at, total), total)
        for box in walk.scope
        for total in (walk.totals.get(box.id, 0),)
    )
    why = None
    if contents.cut:
        why = f"of {contents.cut} large messages only the beginning of the text was searched"
    elif walk.by_words:
        why = words.WHY
    elif not whole and not walk.is_full:
        why = words.NOTHING if walk.index_failed else "the time was used up; go on with the cursor"
    coverage = Coverage(
        complete=contents.cut == 0 and not walk.by_words and (whole or walk.is_full),
        order="by date received, as the server has it",
        mailboxes=covered,
        why=why,
        by_server=criteria.words_for(walk.query, lambda leaf: filters.is_exact(leaf) or _chosen(walk, leaf)),
        by_us=criteria.words_for(walk.query, lambda leaf: not filters.is_exact(leaf)),
    )
    excerpts = {row.handle: told for row in walk.rows if (told := contents.excerpts.get(keys.read(row.handle.key)))}
    return Found(walk.rows, coverage, after, excerpts)


def _chosen(walk: _Walk, leaf: Query) -> bool:
    return walk.by_words and words.condition(leaf) is not None


def _worded(asked: str) -> str:
    """The name of the same question where the server's index chooses: a cursor of one way is none of the other."""
    return hashlib.sha256(f"words {asked}".encode()).hexdigest()[:8]
