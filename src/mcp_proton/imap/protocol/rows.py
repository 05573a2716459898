"""FETCH responses into rows. The usual spelling is read by one regular expression an item; any other by the grammar.

A bad date, an odd structure or an unknown item costs that field, never the row. A row whose text is broken
(open quote, unbalanced list) is a ProtocolViolation.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.protocol import bodystructure, envelope, tokens
from mcp_proton.imap.protocol.bodystructure import BodyPart, StructureReader
from mcp_proton.imap.protocol.envelope import Envelope, EnvelopeReader
from mcp_proton.imap.protocol.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcp_proton.imap.limits import Limits
    from mcp_proton.imap.protocol.tokens import Node

NO_SECTIONS: Final[Mapping[str, bytes]] = MappingProxyType({})
LARGEST_UID = 0xFFFF_FFFF


class FetchRow(NamedTuple):
    """What one FETCH response said of one message; what it did not say is None (`uid`: 0, `sections`: empty).

    `seq` is the message's number at that moment, good for nothing but telling rows without UID apart. `sections`
    is keyed as asked: "HEADER", "1.2", "" (the whole), "TEXT<5>" (a range from 5), "HEADER.FIELDS (SUBJECT FROM)".
    """

    seq: int
    uid: int = 0
    flags: frozenset[str] | None = None
    internaldate: datetime | None = None
    size: int | None = None
    envelope: Envelope | None = None
    bodystructure: BodyPart | None = None
    sections: Mapping[str, bytes] = NO_SECTIONS
    modseq: int | None = None

    def merged(self, later: FetchRow) -> FetchRow:
        """Both rows' knowledge of the same message; the later one wins."""
        newer = [new if new is not None else old for old, new in zip(self, later, strict=True)]
        both = {**self.sections, **later.sections} if self.sections and later.sections else None
        sections = both or later.sections or self.sections
        return FetchRow._make([*newer[:7], sections, newer[8]])._replace(uid=later.uid or self.uid)


_ANY_START = re.compile(rb"\*[ \t]+([0-9]{1,10})[ \t]+FETCH[ \t]+", re.IGNORECASE)
_ONLY_FLAGS = re.compile(
    rb"\* ([0-9]{1,10}) FETCH \((?:UID ([0-9]{1,10}) )?FLAGS \(([^()]*)\)(?: UID ([0-9]{1,10}))?\)"
)
_SHORT = 200
# What `Items` asks for first, in its order, and so what most servers send first: one match instead of one an item.
_BEGINNING = re.compile(
    rb"\* ([0-9]{1,10}) FETCH \((?:UID ([0-9]{1,10}) ?)?(?:FLAGS \(([^()]*)\) ?)?"
    rb'(?:INTERNALDATE "([^"]*)" ?)?(?:RFC822\.SIZE ([0-9]{1,19}) ?)?(?:ENVELOPE ' + envelope.COMMON + rb" ?)?"
)
_ITEM = re.compile(
    rb" ?(?:UID ([0-9]{1,10})"  # 1
    rb"|FLAGS \(([^()]*)\)"  # 2
    rb"|RFC822\.SIZE ([0-9]{1,19})"  # 3
    rb'|INTERNALDATE "([^"]*)"'  # 4
    rb"|ENVELOPE "
    + envelope.COMMON
    + rb"|(BODY\[[^\]\"]*\](?:<[0-9]+>)?) (?:("
    + tokens.QUOTED
    + rb"|NIL)|~?\{[0-9]+\+?\})"
    rb"|(BODYSTRUCTURE) (?=\()"
    rb"|(\)\Z))"
)
_UID, _FLAGS, _SIZE, _DATE, _FIRST, _LAST, _SECTION, _SECTION_TEXT, _STRUCTURE, _END = 1, 2, 3, 4, 5, 14, 15, 16, 17, 18


class RowReader:
    """Reads the rows of one connection and remembers what keeps coming back: flag sets and correspondents."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._envelopes = EnvelopeReader()
        self._structures = StructureReader()
        self._flags = Remembered(lambda inside: flag_set(inside.split()))
        self._simple: dict[int, tuple[int, Callable[[bytes], object]]] = {
            _UID: (1, int),
            _FLAGS: (2, self._flags.__getitem__),
            _SIZE: (4, int),
            _DATE: (3, moment),
        }

    def read(self, text: bytes, literals: Sequence[bytes]) -> FetchRow:
        """`text` is the whole response. Raises ProtocolViolation for what cannot be taken apart."""
        return self.usual(text, literals) or self._any(text, literals)

    def usual(self, text: bytes, literals: Sequence[bytes]) -> FetchRow | None:
        """The row in its usual spelling; None if it needs the grammar, or is no row at all."""
        if len(text) < _SHORT:
            short = _ONLY_FLAGS.fullmatch(text)
            if short is not None:
                number, before, inside, after = short.groups()
                return FetchRow(int(number), int(before or after or 0), self._flags[inside])
        start = _BEGINNING.match(text)
        if start is None:
            return None
        number, uid, flags, date, size, *summary = start.groups()
        row: list[object] = [
            int(number),
            0 if uid is None else int(uid),
            None if flags is None else self._flags[flags],
            None if date is None else moment(date),
            None if size is None else int(size),
            None if summary[0] is None else self._envelopes.common(summary),
            None,
            NO_SECTIONS,
            None,
        ]
        at = start.end()
        if not literals and text[at:] == b")":
            return FetchRow._make(row)
        return self._rest(text, at, literals, row)

    def _rest(self, text: bytes, place: int, literals: Sequence[bytes], row: list[object]) -> FetchRow | None:
        """The items after the beginning, one by one."""
        sections: dict[str, bytes] = {}
        waiting = iter(literals)
        at: int | None = place
        while at is not None:
            item = _ITEM.match(text, at)
            if item is None:
                return None
            kind = item.lastindex or 0
            if kind in self._simple:
                where, read = self._simple[kind]
                row[where] = read(item[kind])
                at = item.end()
            elif kind == _LAST:
                row[5] = self._envelopes.common(item.groups()[_FIRST - 1 : _LAST])
                at = item.end()
            elif kind == _STRUCTURE:
                row[6], at = self._structures.common(text, item.end()) or (None, None)
            elif kind == _END:
                row[7] = sections or NO_SECTIONS
                return FetchRow._make(row) if next(waiting, None) is None else None
            else:
                at = _section(item, sections, waiting)
        return None

    def _any(self, text: bytes, literals: Sequence[bytes]) -> FetchRow:
        start = _ANY_START.match(text)
        if start is None:
            raise ProtocolViolation("the mail server sent a message's data without its number")
        nodes = tokens.parse(text[start.end() :], literals, self._limits)
        if not nodes or not isinstance(nodes[0], list):
            raise ProtocolViolation("the mail server sent a message's data that is no list")
        return self._row(nodes[0], int(start[1]))

    def _row(self, nodes: list[Node], seq: int) -> FetchRow:
        row: dict[str, object] = {}
        sections: dict[str, bytes] = {}
        for name, value in zip(nodes[::2], nodes[1::2], strict=False):
            if not isinstance(name, bytes):
                raise ProtocolViolation("the mail server sent a message's data without their names")
            self._item(name.upper(), value, row, sections)
        return FetchRow(seq, **row, sections=sections or NO_SECTIONS)  # type: ignore[arg-type]  # filled by _item only

    def _item(self, name: bytes, value: Node, row: dict[str, object], sections: dict[str, bytes]) -> None:
        match name:
            case b"UID":
                row["uid"] = _number(value) or 0
            case b"FLAGS":
                row["flags"] = flag_set(
                    [flag for flag in value if isinstance(flag, bytes)] if isinstance(value, list) else []
                )
            case b"INTERNALDATE":
                row["internaldate"] = moment(value) if isinstance(value, bytes) else None
            case b"RFC822.SIZE":
                row["size"] = _number(value)
            case b"ENVELOPE":
                row["envelope"] = envelope.from_nodes(value)
            case b"BODYSTRUCTURE" | b"BODY":
                row["bodystructure"] = bodystructure.from_nodes(value)
            case b"MODSEQ":
                row["modseq"] = _number(value[0]) if isinstance(value, list) and value else None
            case _:
                if isinstance(value, bytes) and (b"[" in name or name in _OLD_NAMES):
                    sections[section_key(name)] = value


def _section(item: re.Match[bytes], sections: dict[str, bytes], waiting: Iterator[bytes]) -> int | None:
    """Takes a section's value, a literal or a string, and says where the row goes on; None if that makes no sense."""
    span = item[_SECTION_TEXT]
    value = next(waiting, None) if span is None else envelope.text(span)
    if value is not None:
        sections[section_key(item[_SECTION])] = value
    return None if value is None and span is None else item.end()


_OLD_NAMES = {b"RFC822": "", b"RFC822.HEADER": "HEADER", b"RFC822.TEXT": "TEXT"}
_SYSTEM_FLAGS = {
    flag.lower(): flag for flag in ("\\Seen", "\\Answered", "\\Flagged", "\\Deleted", "\\Draft", "\\Recent")
}


def flag_set(flags: Sequence[bytes]) -> frozenset[str]:
    """Flags as text: the system's in their usual case, keywords as they are."""
    words = (flag.decode("utf-8", "replace") for flag in flags)
    return frozenset(_SYSTEM_FLAGS.get(word.lower(), word) for word in words)


def section_key(name: bytes) -> str:
    """`BODY[1.MIME]<0>` → "1.MIME<0>", however the server spells it; BINARY keeps its name."""
    if name in _OLD_NAMES:
        return _OLD_NAMES[name]
    word = name.upper().replace(b'"', b"").decode("latin-1")
    return word[5:].replace("]", "", 1) if word.startswith("BODY[") else word


_MOMENT = re.compile(rb" ?([0-9]{1,2})-([A-Za-z]{3})-([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([+-][0-9]{4})")
_MONTHS = {name: number for number, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}


def moment(value: bytes) -> datetime | None:
    """An INTERNALDATE with its zone; None if it names no moment."""
    found = _MOMENT.fullmatch(value)
    if found is None:
        return None
    day, month, year, hour, minute, second, zone = found.groups()
    try:
        return datetime(
            int(year),
            _MONTHS[month.lower()],
            int(day),
            int(hour),
            int(minute),
            min(int(second), 59),  # a leap second
            tzinfo=_ZONES.get(zone) or _zone(zone),
        )
    except (ValueError, KeyError):
        return None


def _zone(text: bytes) -> timezone:
    number = int(text)
    minutes = abs(number) // 100 * 60 + abs(number) % 100
    return timezone(timedelta(minutes=minutes if number > 0 else -minutes))


_ZONES: Final[Mapping[bytes, timezone]] = MappingProxyType(
    {b"+0000": UTC, **{zone: _zone(zone) for zone in (b"%+03d00" % hours for hours in range(-12, 15) if hours)}}
)


def _number(node: Node) -> int | None:
    return int(node) if isinstance(node, bytes) and len(node) < 20 and node.isdigit() else None
