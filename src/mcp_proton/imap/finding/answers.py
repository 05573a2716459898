"""What a server's SEARCH found, remembered: whether a message matches by text, size or date never changes for its UID.

So the same search again asks for UIDs above the highest one that was searched, and nothing else.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.imap.protocol.uids import LARGEST, UidSet
from mcp_proton.imap.protocol.writer import Atom

if TYPE_CHECKING:
    from mcp_proton.imap.finding.criteria import Key
    from mcp_proton.imap.protocol.box import Box

WINDOW = 20_000
"""messages searched by one command, about, so that a slow server can be left in between"""
MOST_ANSWERS = 64
MOST_UIDS = 2_000_000


@dataclass(slots=True)
class Answer:
    """UIDs found between `lowest` and `highest` searched so far, ascending."""

    lowest: int
    highest: int
    found: array[int] = field(default_factory=lambda: array("I"))


class Answers:
    """The answers of one account, the longest unused forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int, str], Answer] = OrderedDict()

    async def search(self, tag: str, box: Box, key: Key, upper: int, until: float) -> Answer:
        """Search the UIDs up to `upper`, the highest first, until all are searched or the loop's clock says `until`.

        What lies below `lowest` of the answer was not searched yet; asking again goes on there.
        """
        name = (tag, box.uidvalidity, repr(key))
        answer = self._known.get(name)
        if answer is None:
            answer = self._known[name] = Answer(upper + 1, upper)
        self._known.move_to_end(name)
        if answer.highest < upper:
            answer.found.extend(await _between(box, key, answer.highest + 1, upper))
            answer.highest = upper
        span = WINDOW * max(upper // max(box.exists, 1), 1)
        while answer.lowest > 1:
            bottom = max(answer.lowest - span, 1)
            answer.found = array("I", await _between(box, key, bottom, answer.lowest - 1)) + answer.found
            answer.lowest = bottom
            if asyncio.get_running_loop().time() >= until:
                break
        self._shrink()
        return Answer(answer.lowest, upper, answer.found[: bisect_right(answer.found, upper)])

    def _shrink(self) -> None:
        while len(self._known) > MOST_ANSWERS or (
            len(self._known) > 1 and sum(len(one.found) for one in self._known.values()) > MOST_UIDS
        ):
            self._known.popitem(last=False)


async def _between(box: Box, key: Key, lowest: int, highest: int) -> array[int]:
    window = UidSet.window(lowest, min(highest, LARGEST))
    return array("I", (uid for uid in await box.search(Atom("UID"), window, *key) if lowest <= uid <= highest))
