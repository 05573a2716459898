"""Bytes to commands, as strict and as odd as Bridge's own parser (facts: recordings `connect-*`, `search-*`, `fetch-*`).

Errors carry the offset Bridge prints. Text after a complete command loses the tag; an unclosed quote takes in the lines
that follow; a literal's continuation is asked for even when its bytes are already there.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import names
from mcp_proton.simulator.imap.commands import Command, Range
from mcp_proton.simulator.imap.fetch_parser import read_items
from mcp_proton.simulator.imap.flag_parser import read_flag_list, read_flags, skip_date_time
from mcp_proton.simulator.imap.scanner import ATOM, DIGITS, LETTERS, LIST_CHAR, TAG, Scanner, SyntaxFault
from mcp_proton.simulator.imap.search_parser import parse_search

if TYPE_CHECKING:
    from collections.abc import Callable

BARE = frozenset({"capability", "idle", "noop", "logout", "check", "close", "expunge", "unselect", "starttls"})
WITH_UID = frozenset({"copy", "fetch", "search", "move", "store", "expunge"})
COMMANDS = (
    BARE
    | WITH_UID
    | {"list", "append", "delete", "create", "rename", "login", "authenticate", "status", "select", "examine"}
    | {"subscribe", "unsubscribe", "lsub", "uid", "id"}
)
_STATUS = frozenset({"messages", "recent", "uidnext", "uidvalidity", "unseen"})


class InvalidName(Exception):
    """A mailbox name that isn't modified UTF-7, in a command that is complete otherwise."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self.tag = tag


class Parser:
    """Parses one command from the beginning of some bytes; `tag` is known from the moment it was read."""

    def __init__(
        self,
        data: bytes | bytearray,
        prompt: Callable[[int, bytes], None] = lambda _at, _line: None,
        *,
        known: frozenset[str] = frozenset(COMMANDS),
        first_offset: int = 0,
    ) -> None:
        self.scanner = Scanner(data, prompt)
        self._known = known
        self._first_offset = first_offset
        self._invalid_name = False
        self.tag = ""

    def parse(self) -> Command:
        """The command; raises SyntaxFault, NeedMore or Dropped."""
        scan = self.scanner
        self.tag = self._tag()
        if self.tag.lower() == "done" and scan.peek() == 0x0D:
            scan.end_of_line()
            return Command("", "DONE")
        scan.space("Expected space after tag")
        name = scan.keyword(lambda word, _at: f"unknown command '{word}'", self._known)
        by_uid = name == "uid"
        if by_uid:
            name = self._uid_command()
        if name == "authenticate":
            return self._authenticate()
        fields = self._arguments(name, by_uid=by_uid)
        scan.end_of_line()
        if self._invalid_name:
            raise InvalidName(self.tag)
        return Command(self.tag, name.upper(), by_uid=by_uid, **fields)  # type: ignore[arg-type] # made below

    def _tag(self) -> str:
        scan = self.scanner
        if scan.takes(b"*"):
            return "*"
        tag = scan.run(TAG)
        if not tag:
            raise SyntaxFault("Invalid tag char detected", self._first_offset)
        return tag.decode()

    def _uid_command(self) -> str:
        scan = self.scanner
        scan.space("expected space after command")
        start = scan.position
        word = scan.run(LETTERS).decode().lower()
        if word not in WITH_UID:
            raise SyntaxFault(f"unknown uid command '{word}'", start)
        return word

    def _arguments(self, name: str, *, by_uid: bool) -> dict[str, object]:
        if name in BARE and not (name == "expunge" and by_uid):
            return {}
        self.scanner.space("expected space after command")
        readers: dict[str, Callable[[], dict[str, object]]] = {
            "login": self._login, "list": self._list, "lsub": self._list, "status": self._status, "append": self._append,
            "rename": self._rename, "id": self._id, "fetch": self._fetch, "store": self._store, "search": self._search,
            "copy": self._copy, "move": self._copy, "expunge": lambda: {"numbers": self._set()},
        }  # fmt: skip
        return readers.get(name, lambda: {"mailbox": self._mailbox()})()

    # -- names and small things

    def _mailbox(self) -> str:
        return self._decoded(self.scanner.astring())

    def _decoded(self, raw: bytes) -> str:
        try:
            return names.canonical(names.decode(raw))
        except names.InvalidNameError:
            self._invalid_name = True
            return ""

    def _login(self) -> dict[str, object]:
        user = self.scanner.astring()
        self.scanner.space("expected space after userid")
        return {"words": (user.decode("latin-1"), self.scanner.astring().decode("latin-1"))}

    def _authenticate(self) -> Command:
        scan = self.scanner
        mechanism = scan.run(ATOM).decode().upper()
        # Bridge reads the mechanism as a word of its own after the blank.
        if not mechanism and scan.takes(b" "):
            mechanism = scan.run(ATOM).decode().upper()
        if mechanism != "PLAIN":
            raise scan.fault("unsupported authentication mechanism")
        if scan.peek() != 0x0D:
            raise scan.fault("expected CR")
        scan.end_of_line()
        scan.prompt(scan.position, b"+\r\n")
        if scan.takes(b"*"):
            scan.peek()
            raise scan.fault("client aborted authentication")
        coded = scan.run(DIGITS | LETTERS | frozenset(b"+/="))
        if scan.peek() != 0x0D:
            raise scan.fault("invalid base64 content")
        try:
            parts = base64.b64decode(coded, validate=True).decode("latin-1").split("\0")
        except (binascii.Error, ValueError):
            raise scan.fault("invalid base64 content") from None
        if len(parts) != 3:
            raise scan.fault("invalid authentication data")
        scan.end_of_line()
        return Command(self.tag, "AUTHENTICATE", words=(parts[1], parts[2]))

    def _list(self) -> dict[str, object]:
        reference = self.scanner.astring()
        self.scanner.space("expected space after mailbox")
        wanted = (
            self.scanner.run(LIST_CHAR | frozenset(range(0x80, 0x100)))
            if self.scanner.peek() in LIST_CHAR or self.scanner.peek() >= 0x80
            else self.scanner.string()
        )
        return {"other": self._plain(reference), "mailbox": self._plain(wanted)}

    def _plain(self, raw: bytes) -> str:
        try:
            return names.decode(raw)
        except names.InvalidNameError:
            self._invalid_name = True
            return ""

    def _rename(self) -> dict[str, object]:
        old = self._mailbox()
        self.scanner.space("expected space after mailbox")
        return {"mailbox": old, "other": self._mailbox()}

    def _id(self) -> dict[str, object]:
        scan = self.scanner
        if scan.peek() in LETTERS:
            scan.keyword(lambda word, _at: f"unknown value '{word}'", frozenset({"nil"}))
            return {}
        scan.expect(b"(", "expected ( for id list start")
        words: list[str] = []
        while not scan.takes(b")"):
            if words:
                scan.space("expected space after ID key")
            words.append(self._nstring())
        return {"words": tuple(words)}

    def _nstring(self) -> str:
        if self.scanner.peek() in LETTERS:
            self.scanner.keyword(lambda word, _at: f"unknown value '{word}'", frozenset({"nil"}))
            return ""
        return self.scanner.string().decode("latin-1")

    def _status(self) -> dict[str, object]:
        scan = self.scanner
        mailbox = self._mailbox()
        scan.space("expected space after mailbox")
        scan.expect(b"(", "expected ( for status attributes start")
        words = [scan.keyword(_unknown_status, _STATUS)]
        while scan.takes(b" "):
            words.append(scan.keyword(_unknown_status, _STATUS))
        scan.expect(b")", "expected ) for status attributes end")
        return {"mailbox": mailbox, "words": tuple(word.upper() for word in words)}

    # -- sets

    def _set(self) -> tuple[Range, ...]:
        ranges = [self._range()]
        while self.scanner.takes(b","):
            ranges.append(self._range())
        return tuple(ranges)

    def _range(self) -> Range:
        first = self._set_number()
        return Range(first, self._set_number()) if self.scanner.takes(b":") else Range(first, first)

    def _set_number(self) -> int | None:
        # Bridge keeps 32 bits of what it read, which is how 2^32 becomes message 0.
        return None if self.scanner.takes(b"*") else self.scanner.positive() % 2**32

    # -- STORE, COPY, SEARCH, APPEND

    def _store(self) -> dict[str, object]:
        scan = self.scanner
        numbers = self._set()
        scan.space("expected space after sequence set")
        how = "add" if scan.takes(b"+") else "remove" if scan.takes(b"-") else "replace"
        scan.keyword(lambda word, _at: f"unknown store attribute '{word}'", frozenset({"flags"}))
        silent = scan.takes(b".")
        if silent:
            scan.keyword(lambda word, _at: f"unknown store attribute '{word}'", frozenset({"silent"}))
        scan.space("expected space after FLAGS")
        return {"numbers": numbers, "how": how, "silent": silent, "flags": read_flags(scan)}

    def _fetch(self) -> dict[str, object]:
        numbers = self._set()
        self.scanner.space("expected space after sequence set")
        return {"numbers": numbers, "items": read_items(self.scanner)}

    def _copy(self) -> dict[str, object]:
        numbers = self._set()
        self.scanner.space("expected space after sequence set")
        return {"numbers": numbers, "mailbox": self._mailbox()}

    def _search(self) -> dict[str, object]:
        charset, key = parse_search(self.scanner, self._set)
        return {"other": charset, "key": key}

    def _append(self) -> dict[str, object]:
        scan = self.scanner
        mailbox = self._mailbox()
        scan.space("expected space after mailbox")
        flags: tuple[str, ...] = ()
        if scan.peek() == 0x28:
            flags = read_flag_list(scan)
            scan.space("expected space after flag list")
        if scan.peek() == 0x22:
            skip_date_time(scan)
            scan.space("expected space after date-time")
        if scan.peek() != 0x7B:
            raise scan.fault("expected '{' for literal start")
        return {"mailbox": mailbox, "flags": flags, "literal": scan.literal()}


def _unknown_status(word: str, at: int) -> str:
    # Bridge prints the whole token with its place.
    return f"unknown status attribute '{{{word} {at}}}'"
