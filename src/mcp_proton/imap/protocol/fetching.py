"""UID FETCH: what is asked of each message, and the rows that answer it. Always by BODY.PEEK: nothing is marked read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.protocol.asks import Ask, Done, Nowhere
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.uids import LARGEST, UidSet
from mcp_proton.imap.protocol.writer import Atom, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_proton.imap.protocol.responses import Response
    from mcp_proton.imap.protocol.wire import Sink

_NAME = r"[A-Z0-9!#$&'+./^_`|}~-]+"
_FIELDS = rf"HEADER\.FIELDS(?:\.NOT)? \({_NAME}(?: {_NAME})*\)"
_SECTION = re.compile(
    rf"(?:|HEADER|TEXT|{_FIELDS}|[1-9][0-9]{{0,8}}(?:\.[1-9][0-9]{{0,8}})*(?:\.(?:MIME|HEADER|TEXT|{_FIELDS}))?)\Z"
)


_SECTION_LITERAL = re.compile(rb"BODY\[[^\]]{0,200}\](?:<[0-9]+>)? ~?\{[0-9]+\+?\}\Z", re.IGNORECASE)
_ROW_BEGINS = re.compile(rb"\*[ \t]+[0-9]{1,10}[ \t]+FETCH[ \t]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Items:
    """What to fetch of each message; the UID comes always. `sections` as in RFC 9051 §6.4.5, without the brackets:
    "" (the whole), "HEADER", "TEXT", "1.2", "1.MIME", "HEADER.FIELDS (SUBJECT FROM)" (names in upper case).

    Costs on Bridge: everything but sections comes from its database; any section reads the whole message.
    """

    flags: bool = False
    internaldate: bool = False
    size: bool = False
    envelope: bool = False
    structure: bool = False
    sections: tuple[str, ...] = ()
    version: bool = False
    """MODSEQ (RFC 7162), which a mailbox without versions refuses; see `Box.versioned`"""

    def __post_init__(self) -> None:
        for section in self.sections:
            checked(section)

    def words(self) -> list[str]:
        known = {
            "FLAGS": self.flags,
            "INTERNALDATE": self.internaldate,
            "RFC822.SIZE": self.size,
            "ENVELOPE": self.envelope,
        }
        words = ["UID", *(word for word, wanted in known.items() if wanted)]
        words += [f"BODY.PEEK[{section}]" for section in self.sections]
        words += ["MODSEQ"] if self.version else []
        return [*words, "BODYSTRUCTURE"] if self.structure else words

    def judges(self) -> tuple[Callable[[FetchRow], bool], Callable[[FetchRow], bool]]:
        """Two questions to a row: does it hold all that was asked, and does it hold any of it?"""
        asked = (self.flags, self.internaldate, self.size, self.envelope, self.structure)
        places = tuple(place for place, wanted in enumerate(asked, 2) if wanted)
        sections = self.sections

        def whole(row: FetchRow) -> bool:
            for place in places:  # asked of every row; a generator would cost more than the rest
                if row[place] is None:
                    return False
            return not sections or all(section in row.sections for section in sections)

        def touched(row: FetchRow) -> bool:
            return any(row[place] is not None for place in places) or any(one in row.sections for one in sections)

        return whole, touched


def checked(section: str) -> str:
    """The section itself; Invalid if it is none (so it can't carry anything else into a command)."""
    if not _SECTION.match(section):
        raise Invalid("a section of a message is named as in `1.2`, `HEADER` or `HEADER.FIELDS (SUBJECT)`")
    return section


class Fetch(Ask["list[FetchRow]"]):
    """The rows of the UIDs asked for, one each, in the order the server chose; rows of other messages are news.

    A message told in several responses becomes one row. What the server leaves out stays None. With `give`, each row
    is handed over as soon as it is whole and the result is empty.
    """

    def __init__(self, uids: UidSet, items: Items, *, give: Callable[[FetchRow, int], None] | None = None) -> None:
        words = Verbatim(f"({' '.join(items.words())})".encode("ascii"))
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, words))
        self.held_back = give is not None
        self._uids = uids
        self._low, self._high = uids.ranges[0][0], uids.ranges[-1][1]
        self._solid = len(uids.ranges) == 1
        self._is_whole, self._is_touched = items.judges()
        self._give = give
        self._rows: dict[int, FetchRow | None] = {}
        self._parts: dict[int, FetchRow] = {}

    def take(self, response: Response) -> bool:
        if type(response) is not FetchRow:
            return False
        uid = response.uid
        if uid in self._rows or not self._low <= uid <= self._high or not (self._solid or uid in self._uids):
            return False
        if not self._is_whole(response):
            if not self._is_touched(response):
                return False
            response = self._parts[uid].merged(response) if uid in self._parts else response
            if not self._is_whole(response):
                self._parts[uid] = response
                return True
            self._parts.pop(uid, None)
        if self._give is None:
            self._rows[uid] = response
        else:
            self._rows[uid] = None
            self._give(response, sum(map(len, response.sections.values())))
        return True

    def abandon(self) -> None:
        self._give = lambda row, size: None
        self._rows = dict.fromkeys(self._rows)
        self._parts = {}

    def result(self, done: Done) -> list[FetchRow]:
        rows = [row for row in self._rows.values() if row is not None]
        return rows + list(self._parts.values())


class FetchRange(Ask["bytes | None"]):
    """`length` bytes of a section from `start` (fewer at its end); None if the message or the section isn't there."""

    def __init__(self, uid: int, section: str, start: int, length: int) -> None:
        if not (0 <= start <= LARGEST and 1 <= length <= LARGEST):
            raise Invalid("a range of a message starts at 0 and holds at least one byte")
        asked = f"(UID BODY.PEEK[{checked(section)}]<{start}.{length}>)"
        super().__init__(
            "UID FETCH", line(Atom("UID"), Atom("FETCH"), UidSet.of([uid]), Verbatim(asked.encode("ascii")))
        )
        self.length = length
        self._uid = uid
        self._keys = (f"{section}<{start}>", section) if start == 0 else (f"{section}<{start}>",)
        self._found: bytes | None = None
        self._forgotten = False

    def take(self, response: Response) -> bool:
        if type(response) is not FetchRow or response.uid != self._uid:
            return False
        for key in self._keys:
            if key in response.sections:
                self._found = None if self._forgotten else response.sections[key]
                return True
        return False

    def abandon(self) -> None:
        self._forgotten = True

    def result(self, done: Done) -> bytes | None:
        return self._found


class FetchWhole(Ask[bool]):
    """A section, or all of it from `start` on, in one literal given to `sink` as it arrives. False if the message or
    the section isn't there. Raises ProtocolViolation if what was given turns out to be another message's."""

    held_back = True

    def __init__(self, uid: int, section: str, start: int, length: int | None, sink: Sink) -> None:
        key = checked(section)
        part = ""
        if start or length is not None:
            part, key = f"<{start}.{LARGEST if length is None else length}>", f"{section}<{start}>"
        if not (0 <= start <= LARGEST and (length is None or 1 <= length <= LARGEST)):
            raise Invalid("a range of a message starts at 0 and holds at least one byte")
        asked = Verbatim(f"(UID BODY.PEEK[{section}]{part})".encode("ascii"))
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), UidSet.of([uid]), asked))
        self._uid = uid
        self._key = key
        self._sink = sink
        self._streamed = self._complete = False

    def sink_for(self, head: bytes, size: int) -> Sink | None:
        if self._streamed or not (_ROW_BEGINS.match(head) and _SECTION_LITERAL.search(head[-300:])):
            return None
        self._streamed = True
        return self._sink

    def take(self, response: Response) -> bool:
        if type(response) is not FetchRow or not response.sections:
            return False
        if response.uid != self._uid or self._key not in response.sections:
            if self._streamed and not self._complete:
                raise ProtocolViolation("the mail server sent another message than the one asked for")
            return False
        if not self._complete and response.sections[self._key]:
            self._sink.write(response.sections[self._key])
        self._complete = True
        return True

    def abandon(self) -> None:
        self._sink = Nowhere()

    def result(self, done: Done) -> bool:
        return self._complete


def missing(uids: UidSet, seen: Iterable[int]) -> list[int]:
    """The UIDs that were named one by one and didn't come."""
    if not uids.exact:
        return []
    came = set(seen)
    return [uid for uid in uids if uid not in came]
