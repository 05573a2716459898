"""A query over a block of remembered headers, whole block at once. Three-valued as `domain.query.matches` is.

`certain` rows match, rows outside `possible` do not; what lies between needs more than headers to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.query import (
    All,
    And,
    Contains,
    Field,
    HasFlag,
    Linked,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    fold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mcp_proton.imap.finding.summaries import Block

_PLACES: Mapping[Field, tuple[Field, ...]] = {
    Field.PARTICIPANT: (Field.FROM, Field.TO, Field.CC),
    Field.TEXT: (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC),
    Field.BODY: (),
}
_BEYOND_HEADERS = frozenset({Field.TEXT, Field.BODY})


class Answer(NamedTuple):
    """Bit sets over the rows of a block: `certain` is within `possible`."""

    certain: int
    possible: int


class Judge:
    """One query, made ready. `flagged` has, for each flag the query speaks of, the UIDs that carry it."""

    def __init__(self, query: Query, flagged: Mapping[str, AbstractSet[int]]) -> None:
        self._query = query
        self._flagged = flagged
        self._needles: dict[str, bytes] = {}

    def of(self, block: Block) -> Answer:
        """The answer for each row of a block."""
        return self._of(self._query, block)

    def _of(self, query: Query, block: Block) -> Answer:
        everything = block.everything
        match query:
            case All():
                return Answer(everything, everything)
            case And(terms):
                answers = [self._of(term, block) for term in terms]
                return _both(answers, everything)
            case Or(terms):
                answers = [self._of(term, block) for term in terms]
                return _either(answers)
            case Not(term):
                inner = self._of(term, block)
                return Answer(everything & ~inner.possible, everything & ~inner.certain)
            case Contains(where, text):
                return self._contains(where, text, block)
            case HasFlag(flag) if flag in self._flagged:
                return _exactly(_rows(block.uids, self._flagged[flag].__contains__))
            case Received():
                return _received(block, query)
            case MessageId(message_id):
                return _named(message_id, block)
            case Linked(ids):
                return _linked(ids, block)
        return Answer(0, everything)  # only size, structure, header block or body can tell

    def _contains(self, where: Field, text: str, block: Block) -> Answer:
        needle = self._needle(text)
        found = possible = 0
        for place in _PLACES.get(where, (where,)):
            column = block.columns[place]
            found |= column.rows_with(needle) if needle else block.everything
            possible |= column.cut
        return Answer(found, block.everything if where in _BEYOND_HEADERS else found | possible)

    def _needle(self, text: str) -> bytes:
        if text not in self._needles:
            self._needles[text] = fold(text).encode("utf-8", "surrogatepass")
        return self._needles[text]


def _named(message_id: str, block: Block) -> Answer:
    column = block.message_ids
    wanted = message_id.encode("utf-8", "surrogatepass")
    exact = 0
    for row in (
        bits(column.rows_with(wanted)) if wanted and b"\n" not in wanted else range(len(block)) if not wanted else ()
    ):
        exact |= (column.of(row) == wanted) << row
    return Answer(exact, exact | column.cut)


def _linked(ids: AbstractSet[str], block: Block) -> Answer:
    found = 0
    for one in ids:
        wanted = one.encode("utf-8", "surrogatepass")
        found |= _named(one, block).certain
        found |= (
            block.replies.rows_with(wanted) if wanted and b"\n" not in wanted else 0 if wanted else block.everything
        )
    return Answer(found, found | block.message_ids.cut | block.replies.cut)


def bits(rows: int) -> list[int]:
    """The rows of a bit set, ascending."""
    found = []
    while rows:
        lowest = rows & -rows
        found.append(lowest.bit_length() - 1)
        rows ^= lowest
    return found


def _both(answers: Sequence[Answer], everything: int) -> Answer:
    certain = possible = everything
    for answer in answers:
        certain &= answer.certain
        possible &= answer.possible
    return Answer(certain, possible)


def _either(answers: Sequence[Answer]) -> Answer:
    certain = possible = 0
    for answer in answers:
        certain |= answer.certain
        possible |= answer.possible
    return Answer(certain, possible)


def _exactly(rows: int) -> Answer:
    return Answer(rows, rows)


def _rows(values: Sequence[int], wanted: Callable[[int], bool]) -> int:
    # Through text: shifting a wide integer once a row is quadratic.
    return int("".join("1" if wanted(value) else "0" for value in reversed(values)) or "0", 2)


def _received(block: Block, query: Received) -> Answer:
    since = None if query.since is None else query.since.timestamp()
    before = None if query.before is None else query.before.timestamp()

    def fits(date: int) -> bool:
        return (since is None or date >= since) and (before is None or date < before)

    undated = _rows(block.dates, (0).__eq__)
    rows = _rows(block.dates, fits) & ~undated
    return Answer(rows, rows | undated)
