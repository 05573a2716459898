"""Untagged responses as frozen values, one type each (RFC 9051 §7). What we don't know is `Other`, never an error."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.protocol import codes, tokens, utf7
from mcp_proton.imap.protocol.rows import FetchRow, RowReader, flag_set
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_proton.imap.limits import Limits
    from mcp_proton.imap.protocol.codes import Code
    from mcp_proton.imap.protocol.tokens import Node


@dataclass(frozen=True, slots=True)
class Exists:
    count: int


@dataclass(frozen=True, slots=True)
class Recent:
    count: int


@dataclass(frozen=True, slots=True)
class Expunged:
    """One message is gone; the numbers of all above it went down by one."""

    seq: int


@dataclass(frozen=True, slots=True)
class Vanished:
    uids: UidSet


@dataclass(frozen=True, slots=True)
class Status:
    """`* OK/NO/BAD/BYE/PREAUTH`: `kind` is that word. The text is the server's own: not for messages of ours."""

    kind: str
    code: Code | None
    text: bytes


@dataclass(frozen=True, slots=True)
class Flags:
    flags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Capabilities:
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One mailbox of LIST. `wire` is the name as the server spells it (use it to open odd ones), `name` is for people.

    `attributes` keep the server's case, `delimiter` is None for a flat name.
    """

    name: str
    wire: bytes
    delimiter: str | None
    attributes: frozenset[str]
    subscribed_only: bool = False


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """STATUS of one mailbox: item (upper case) → number. Not atomic on Bridge during its first sync."""

    name: str
    wire: bytes
    items: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """SEARCH, in the server's order."""

    numbers: array[int]


@dataclass(frozen=True, slots=True)
class ExtendedSearch:
    """ESEARCH (RFC 4731): what was asked to be returned. `all` is None if nothing matched or it wasn't asked."""

    tag: bytes | None
    by_uid: bool
    all: UidSet | None = None
    count: int | None = None
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True, slots=True)
class ServerId:
    """The ID answer (RFC 2971), keys in lower case."""

    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Other:
    """A response this client has no use for; `name` is its first word, upper case."""

    name: str
    text: bytes


Response: TypeAlias = (
    "FetchRow | Exists | Recent | Expunged | Vanished | Status | Flags | Capabilities | ListEntry | MailboxStatus"
    " | SearchResult | ExtendedSearch | ServerId | Other"
)

_HEAD = re.compile(rb"\*[ \t]+(?:([0-9]{1,10})[ \t]+)?([A-Za-z][A-Za-z0-9.-]*)[ \t]*")
_SLICE = 1 << 16


class ResponseReader:
    """Reads the untagged responses of one connection.

    `read` raises ProtocolViolation where a response we need is broken; garbage nobody waits for is `Other`.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._rows = RowReader(limits)
        self._kinds: dict[str, Callable[[bytes, Sequence[bytes]], Response]] = {
            "FLAGS": lambda rest, _: Flags(flag_set(rest.strip(b"() ").split())),
            "CAPABILITY": lambda rest, _: Capabilities(codes.capabilities(rest)),
            "SEARCH": lambda rest, _: SearchResult(_numbers(rest)),
            "LIST": self._list,
            "LSUB": lambda rest, literals: self._list(rest, literals, subscribed_only=True),
            "STATUS": self._status,
            "ESEARCH": self._extended_search,
            "ID": self._id,
            "VANISHED": lambda rest, _: Vanished(UidSet.parse(rest.split()[-1] if rest.split() else b"")),
        }

    def read(self, text: bytes, literals: Sequence[bytes]) -> Response:
        row = self._rows.usual(text, literals)
        if row is not None:
            return row
        head = _HEAD.match(text)
        if head is None:
            return Other("", text)
        name, rest = head[2].decode("ascii").upper(), text[head.end() :]
        if head[1] is not None:
            return self._numbered(name, int(head[1]), text, literals)
        if name in {"OK", "NO", "BAD", "BYE", "PREAUTH"}:
            code, words = codes.split(rest)
            return Status(name, code, words)
        kind = self._kinds.get(name)
        return kind(rest, literals) if kind else Other(name, text)

    def _numbered(self, name: str, number: int, text: bytes, literals: Sequence[bytes]) -> Response:
        match name:
            case "FETCH":
                return self._rows.read(text, literals)
            case "EXISTS":
                return Exists(number)
            case "EXPUNGE":
                return Expunged(number)
            case "RECENT":
                return Recent(number)
            case _:
                return Other(name, text)

    def _list(self, rest: bytes, literals: Sequence[bytes], *, subscribed_only: bool = False) -> ListEntry:
        match tokens.parse(rest, literals, self._limits):
            case [list(attributes), bytes() | None as delimiter, bytes(wire), *_]:
                words = frozenset(word.decode("latin-1") for word in attributes if isinstance(word, bytes))
                mark = delimiter.decode("latin-1") if delimiter else None
                return ListEntry(utf7.decode(wire), wire, mark, words, subscribed_only)
        raise ProtocolViolation("the mail server listed a mailbox in a form that is none")

    def _status(self, rest: bytes, literals: Sequence[bytes]) -> MailboxStatus:
        match tokens.parse(rest, literals, self._limits):
            case [bytes(wire), list(pairs), *_]:
                items = {
                    name.decode("latin-1").upper(): int(value)
                    for name, value in zip(pairs[::2], pairs[1::2], strict=False)
                    if isinstance(name, bytes) and isinstance(value, bytes) and len(value) < 20 and value.isdigit()
                }
                return MailboxStatus(utf7.decode(wire), wire, items)
        raise ProtocolViolation("the mail server sent a mailbox's status in a form that is none")

    def _extended_search(self, rest: bytes, literals: Sequence[bytes]) -> ExtendedSearch:
        nodes = tokens.parse(rest, literals, self._limits)
        tag: bytes | None = None
        if nodes and isinstance(correlator := nodes[0], list):
            tag = next((word for word in correlator[1:2] if isinstance(word, bytes)), None)
            nodes = nodes[1:]
        by_uid = bool(nodes) and isinstance(nodes[0], bytes) and nodes[0].upper() == b"UID"
        found = _pairs(nodes[1:] if by_uid else nodes)
        return ExtendedSearch(
            tag,
            by_uid,
            UidSet.parse(found["ALL"]) if "ALL" in found else None,
            *(_count(found.get(name)) for name in ("COUNT", "MIN", "MAX")),
        )

    def _id(self, rest: bytes, literals: Sequence[bytes]) -> ServerId:
        nodes = tokens.parse(rest, literals, self._limits)
        fields = nodes[0] if nodes and isinstance(nodes[0], list) else []
        return ServerId({key.lower(): value.decode("utf-8", "replace") for key, value in _pairs(fields).items()})


def _pairs(nodes: Sequence[Node]) -> dict[str, bytes]:
    pairs = zip(nodes[::2], nodes[1::2], strict=False)
    return {
        name.decode("latin-1").upper(): value
        for name, value in pairs
        if isinstance(name, bytes) and isinstance(value, bytes)
    }


def _count(value: bytes | None) -> int | None:
    return int(value) if value is not None and len(value) < 20 and value.isdigit() else None


def _numbers(text: bytes) -> array[int]:
    """The numbers of a SEARCH answer, read in slices so that a large one is never held as words."""
    body = text.partition(b"(")[0]  # RFC 7162 appends (MODSEQ n)
    numbers = array("I")
    at = 0
    try:
        while at < len(body):
            stop = len(body) if len(body) - at <= _SLICE else body.rfind(b" ", at, at + _SLICE)
            if stop <= at:
                raise ProtocolViolation("the mail server sent a number of messages that is none")
            numbers.extend(map(int, body[at:stop].split()))
            at = stop + 1
    except (ValueError, OverflowError) as fault:
        raise ProtocolViolation("the mail server found messages whose numbers are none") from fault
    return numbers
