"""Arguments into the bytes of a command. What a caller passes can't become another command.

`Atom`s and UID sets are checked, text goes quoted or as a literal, and CR, LF and NUL are refused in all of them;
only `Literal` (a message's bytes) carries lines. Literals are synchronising unless the server offers otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.protocol import utf7
from mcp_proton.imap.protocol.uids import LARGEST, UidSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_QUOTED = 800
SMALL_LITERAL = 4_096
"""the most a server with LITERAL- takes without being asked (RFC 7888 §5)"""


class Atom(str):
    """A word of the protocol or a flag, written as it is. Never a sequence set: it may not begin with a digit or `*`."""

    __slots__ = ()


class Verbatim(bytes):
    """Written as it is. Only this package makes it, out of pieces that were checked one by one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MailboxName:
    """A mailbox: text is encoded as modified UTF-7, bytes are a name as the server itself spelled it."""

    name: str | bytes


@dataclass(frozen=True, slots=True)
class Literal:
    """Bytes sent as a literal whatever they hold (NUL excepted)."""

    data: bytes


Argument: TypeAlias = "Atom | str | bytes | int | date | UidSet | MailboxName | Literal | Sequence[Argument]"
Line: TypeAlias = "tuple[bytes | Literal, ...]"

_ATOM = re.compile(r"[^\x00-\x20\x7f-\U0010ffff(){%*\"0-9][^\x00-\x20\x7f-\U0010ffff(){%*\"]*\Z")
_QUOTABLE = re.compile(rb"[\x20-\x7e]*\Z")
_FORBIDDEN = re.compile(rb"[\r\n\x00]")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def line(*arguments: Argument) -> Line:
    """The command's pieces, without tag and line end: neighbouring bytes joined, literals apart."""
    pieces: list[bytes | Literal] = []
    for number, argument in enumerate(arguments):
        if number:
            pieces.append(b" ")
        pieces.extend(_written(argument))
    return tuple(_joined(pieces))


def chunks(tag: bytes, words: Line, unasked: int) -> list[bytes]:
    """What to send: after each chunk but the last the server must say `+`. `unasked`: the longest literal that the
    server takes without being asked (0: none, LARGEST: LITERAL+)."""
    sent: list[bytes] = []
    current = bytearray(tag + b" ")
    for piece in words:
        if isinstance(piece, bytes):
            current += piece
        elif len(piece.data) <= unasked:
            current += b"{%d+}\r\n%b" % (len(piece.data), piece.data)
        else:
            current += b"{%d}\r\n" % len(piece.data)
            sent.append(bytes(current))
            current = bytearray(piece.data)
    current += b"\r\n"
    return [*sent, bytes(current)]


def _written(argument: Argument) -> Iterable[bytes | Literal]:
    match argument:
        case Atom():
            return (_atom(argument),)
        case str():
            return (_text(argument.encode("utf-8", "surrogateescape")),)
        case Verbatim():
            return (bytes(argument),)
        case bytes():
            return (_text(argument),)
        case bool():
            raise Invalid("a truth value is no argument of a mail command")
        case int():
            return (_number(argument),)
        case date():
            return (b"%d-%b-%04d" % (argument.day, _MONTHS[argument.month - 1].encode(), argument.year),)
        case UidSet():
            return (_uids(argument),)
        case MailboxName():
            return (_mailbox(argument.name),)
        case Literal():
            return (_literal(argument),)
        case _:
            return (b"(", *line(*argument), b")")


def _atom(atom: Atom) -> bytes:
    if not _ATOM.match(atom):
        raise Invalid("a word of a mail command holds a character that it may not hold")
    return atom.encode("ascii")


def _text(value: bytes) -> bytes | Literal:
    if _FORBIDDEN.search(value):
        raise Invalid("a text in a mail command may not hold line ends or NUL")
    if len(value) <= LONGEST_QUOTED and _QUOTABLE.match(value):
        return b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    return Literal(value)


def _mailbox(name: str | bytes) -> bytes | Literal:
    if isinstance(name, bytes):
        return _text(name)
    _text(name.encode("utf-8", "surrogatepass"))  # UTF-7 would hide line ends from the check
    return _text(utf7.encode(name))


def _number(value: int) -> bytes:
    if not 0 <= value <= LARGEST:
        raise Invalid("a number in a mail command goes from 0 to 4294967295")
    return b"%d" % value


def _uids(uids: UidSet) -> bytes:
    if not uids:
        raise Invalid("a set of UIDs may not be empty")
    return uids.text()


def _literal(literal: Literal) -> Literal:
    if b"\x00" in literal.data:
        raise Invalid("a message may not hold NUL")
    return literal


def _joined(pieces: list[bytes | Literal]) -> Iterable[bytes | Literal]:
    run: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            run.append(piece)
            continue
        if run:
            yield b"".join(run)
            run = []
        yield piece
    if run:
        yield b"".join(run)
