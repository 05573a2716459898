"""One answer to Email/query, believed only as far as it can be true (RFC 8620 §5.5; J-73 to J-76)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Unavailable
from mcp_proton.jmap.protocol import values

if TYPE_CHECKING:
    from mcp_proton.jmap.protocol.values import Object


class InvalidUpstream(Unavailable):
    """A page that cannot be true: what follows from it would be a gap or a double."""

    code = "upstream_response_invalid"
    retry = False
    advice = "nothing was returned; start again from position 0"


@dataclass(frozen=True, slots=True)
class Window:
    """Ids in their order. `position` is that of the first one; `limit` what the server enforced, where it says so."""

    ids: tuple[str, ...]
    position: int
    total: int | None
    state: str
    limit: int | None

    @property
    def has_more(self) -> bool:
        """Whether something comes after it: by the total, else unless it is empty (J-67)."""
        if self.total is None:
            return bool(self.ids)
        return bool(self.ids) and self.position + len(self.ids) < self.total


def read(answer: Object, asked: int, position: int | None = None) -> Window:
    """Read an answer to a query for at most `asked` ids. Raises `InvalidUpstream` for what no server may say.

    `position` is where they were asked for (None: by an anchor). A page from elsewhere would be a gap or a double; only
    one that is empty, asked for at or past a known end, may say another position (J-74, J-75).
    """
    try:
        ids = tuple(values.identifier(one) for one in values.sequence(answer.get("ids")))
        total = None if answer.get("total") is None else values.number(answer["total"])
        limit = None if answer.get("limit") is None else values.number(answer["limit"])
        if answer.get("position") is None:
            raise values.wrong("a position")
        window = Window(ids, values.number(answer["position"]), total, values.state(answer.get("queryState")), limit)
    except Unavailable as error:
        raise InvalidUpstream(error.message) from None
    _check(window, asked)
    _check_end(window, window.position if position is None else position)
    return window


def _check(window: Window, asked: int) -> None:
    in_force = asked if window.limit is None else min(asked, window.limit)
    if window.limit == 0:
        raise InvalidUpstream("the mail server gives pages that hold nothing")
    if len(window.ids) > in_force:
        raise InvalidUpstream("the mail server gave more than it was asked for")
    if len(set(window.ids)) < len(window.ids):
        raise InvalidUpstream("the mail server named a message twice")
    if window.total is not None and window.ids and window.total < window.position + len(window.ids):
        raise InvalidUpstream("the mail server's total is smaller than what it gave")


def _check_end(window: Window, position: int) -> None:
    if window.ids:
        if window.position != position:
            raise InvalidUpstream("the mail server gave another page than was asked for")
    elif window.total is not None:
        if position < window.total:
            raise InvalidUpstream("the mail server gave nothing where it says that there is more")
    elif window.position != position:
        raise InvalidUpstream("the mail server gave nothing, and not for what was asked")
