"""The commands this client sends, one class each, with the reading of their answers (RFC 9051 §6).

Messages are named by UID only. Nothing here marks anything read: FETCH always peeks (`fetching.py`).
"""

from __future__ import annotations

from array import array
from base64 import b64encode
from dataclasses import dataclass, field
from itertools import islice
from operator import lt
from typing import TYPE_CHECKING

from mcp_proton.imap.login.bearer import Challenge
from mcp_proton.imap.protocol import utf7
from mcp_proton.imap.protocol.asks import Ask, Done, Plain
from mcp_proton.imap.protocol.codes import CopyUid
from mcp_proton.imap.protocol.passing import Passing
from mcp_proton.imap.protocol.responses import (
    Capabilities,
    Exists,
    ExtendedSearch,
    Flags,
    ListEntry,
    MailboxStatus,
    Recent,
    Response,
    SearchResult,
    ServerId,
    Status,
)
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.writer import Argument, Atom, Literal, MailboxName, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.imap.login.bearer import Mechanism
    from mcp_proton.imap.protocol.uids import UidSet

LONGEST_FIRST = 7_000
"""a longer answer isn't put into the command: some servers take lines of 8,192 octets at most"""


class Capability(Ask[frozenset[str]]):
    def __init__(self) -> None:
        super().__init__("CAPABILITY", line(Atom("CAPABILITY")))
        self._names: frozenset[str] = frozenset()

    def take(self, response: Response) -> bool:
        if isinstance(response, Capabilities):
            self._names = response.names
            return True
        return False

    def result(self, done: Done) -> frozenset[str]:
        return self._names


class StartTls(Plain):
    halts = True

    def __init__(self) -> None:
        super().__init__("STARTTLS", line(Atom("STARTTLS")))


class Compress(Plain):
    """COMPRESS DEFLATE (RFC 4978)."""

    halts = True

    def __init__(self) -> None:
        super().__init__("COMPRESS", line(Atom("COMPRESS"), Atom("DEFLATE")))


class Login(Plain):
    """LOGIN; what isn't plain ASCII without quotes goes as a literal."""

    secret = True

    def __init__(self, username: str, password: str) -> None:
        super().__init__("LOGIN", line(Atom("LOGIN"), _credential(username), _credential(password)))


def _credential(value: str) -> Argument:
    simple = value.isascii() and value.isprintable() and '"' not in value and "\\" not in value
    checked = line(value)  # line ends and NUL are refused here, in a literal too
    return value if simple or isinstance(checked[0], Literal) else Literal(value.encode("utf-8"))


class AuthenticatePlain(Plain):
    """AUTHENTICATE PLAIN (RFC 4616), with the answer in the first line where the server takes it (SASL-IR)."""

    secret = True

    def __init__(self, username: str, password: str, *, at_once: bool) -> None:
        self._answer = b64encode(f"\0{username}\0{password}".encode())
        initial = [Atom(self._answer.decode("ascii"))] if at_once and self._answer[:1].isalpha() else []
        super().__init__("AUTHENTICATE", line(Atom("AUTHENTICATE"), Atom("PLAIN"), *initial))
        self._sent = bool(initial)

    def go_ahead(self, text: bytes) -> bytes | None:
        if self._sent:
            return b"*\r\n"  # a second question: PLAIN has none, so stop here
        self._sent = True
        return self._answer + b"\r\n"


class AuthenticateBearer(Plain):
    """AUTHENTICATE with an access token (`first`, in base64). What the server has against it is in `challenge`."""

    secret = True

    def __init__(self, mechanism: Mechanism, first: bytes, *, at_once: bool) -> None:
        self._mechanism, self._first = mechanism, first
        self._sent = at_once and len(first) <= LONGEST_FIRST
        initial = [Atom(first.decode("ascii"))] if self._sent else []
        super().__init__("AUTHENTICATE", line(Atom("AUTHENTICATE"), Atom(mechanism.value), *initial))
        self.challenge = Challenge()
        self._challenged = False

    def go_ahead(self, text: bytes) -> bytes | None:
        """The first `+` asks for the token, unless that was sent; another one says what is wrong with it."""
        if not self._sent:
            self._sent = True
            return self._first + b"\r\n"
        if self._challenged:
            return b"*\r\n"
        self._challenged, self.challenge = True, Challenge.read(text.removeprefix(b"+"))
        return self._mechanism.after_challenge + b"\r\n"


class Identify(Ask["Mapping[str, str]"]):
    """ID (RFC 2971). Bridge passes name and version on to Proton as the user agent."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        pairs: list[Argument] = [word for pair in fields.items() for word in pair]
        super().__init__("ID", line(Atom("ID"), pairs))
        self._fields: Mapping[str, str] = {}

    def take(self, response: Response) -> bool:
        if isinstance(response, ServerId):
            self._fields = response.fields
            return True
        return False

    def result(self, done: Done) -> Mapping[str, str]:
        return self._fields


class Noop(Passing):
    def __init__(self) -> None:
        super().__init__("NOOP", line(Atom("NOOP")))


class Logout(Plain):
    def __init__(self) -> None:
        super().__init__("LOGOUT", line(Atom("LOGOUT")))


@dataclass(slots=True)
class Selection:
    """The mailbox a session has open. Counts follow what the server says; `at` is the loop's time of SELECT/EXAMINE.

    `uidvalidity` 0: the server promises no lasting UIDs. `uidnext` and `highestmodseq` are as of `at`.
    """

    name: str | bytes
    read_only: bool
    """opened by EXAMINE"""
    writable: bool = False
    """opened by SELECT, and the server did not say READ-ONLY"""
    at: float = 0.0
    exists: int = 0
    uidvalidity: int = 0
    uidnext: int = 0
    flags: frozenset[str] = frozenset()
    permanent_flags: frozenset[str] | None = None
    """None: not told, so all are kept; empty: none is (RFC 9051 §7.1)"""
    highestmodseq: int | None = None
    unversioned: bool = False
    """the server said NOMODSEQ (RFC 7162 §3.1.2.2): it has CONDSTORE, but not here"""
    counted: int = field(default=0)
    """`exists` as of `at`: if the two differ, mail came or went since"""
    suspect: bool = False
    """a UID that should exist was missing: look at UIDVALIDITY before going on"""


class Select(Ask[Selection]):
    """SELECT, or EXAMINE when `read_only`."""

    def __init__(self, name: str | bytes, *, read_only: bool) -> None:
        word = "EXAMINE" if read_only else "SELECT"
        super().__init__(word, line(Atom(word), MailboxName(name)))
        self._found = Selection(name, read_only)

    def take(self, response: Response) -> bool:
        match response:
            case Exists(count):
                self._found.exists = self._found.counted = count
            case Flags(flags):
                self._found.flags = flags
            case Status("OK", code) if code is not None:
                self._code(code.name, code.value)
            case Recent():
                pass
            case _:
                return False
        return True

    def _code(self, name: str, value: object) -> None:
        match name, value:
            case "UIDVALIDITY", int(number):
                self._found.uidvalidity = number
            case "UIDNEXT", int(number):
                self._found.uidnext = number
            case "HIGHESTMODSEQ", int(number):
                self._found.highestmodseq = number
            case "NOMODSEQ", _:
                self._found.unversioned = True
            case "PERMANENTFLAGS", frozenset() as flags:
                self._found.permanent_flags = flags

    def result(self, done: Done) -> Selection:
        refused = done.code is not None and done.code.name == "READ-ONLY"
        self._found.writable = not (refused or self._found.read_only)
        return self._found


class ListMailboxes(Ask["tuple[list[ListEntry], list[MailboxStatus]]"]):
    """LIST, with STATUS in the same answer where the server can (LIST-STATUS; `status` empty: not asked for)."""

    def __init__(self, reference: str = "", pattern: str = "*", status: Sequence[str] = ()) -> None:
        wanted: list[Argument] = [Atom("RETURN"), [Atom("STATUS"), [Atom(item) for item in status]]] if status else []
        super().__init__("LIST", line(Atom("LIST"), MailboxName(reference), MailboxName(pattern), *wanted))
        self._entries: list[ListEntry] = []
        self._statuses: list[MailboxStatus] = []

    def take(self, response: Response) -> bool:
        if isinstance(response, ListEntry) and not response.subscribed_only:
            self._entries.append(response)
            return True
        if isinstance(response, MailboxStatus):
            self._statuses.append(response)
            return True
        return False

    def result(self, done: Done) -> tuple[list[ListEntry], list[MailboxStatus]]:
        return self._entries, self._statuses


class StatusOf(Ask[MailboxStatus]):
    """STATUS of one mailbox. Bridge loads the whole mailbox for it: as dear as SELECT."""

    def __init__(self, name: str | bytes, items: Sequence[str]) -> None:
        super().__init__("STATUS", line(Atom("STATUS"), MailboxName(name), [Atom(item) for item in items]))
        self._wire = name if isinstance(name, bytes) else utf7.encode(name)
        self._found: MailboxStatus | None = None

    def take(self, response: Response) -> bool:
        if isinstance(response, MailboxStatus) and self._found is None and self._meant(response.wire):
            self._found = response
            return True
        return False

    def _meant(self, wire: bytes) -> bool:
        return wire == self._wire or wire.upper() == self._wire.upper() == b"INBOX"

    def result(self, done: Done) -> MailboxStatus:
        return self._found or MailboxStatus(utf7.decode(self._wire), self._wire, {})


class Search(Ask["array[int]"]):
    """UID SEARCH: the UIDs that match, ascending. `keys` are the search program's words; texts beyond ASCII bring
    CHARSET UTF-8 along. With `extended` (ESEARCH advertised) the answer comes as ranges."""

    def __init__(self, keys: Sequence[Argument], *, extended: bool = False) -> None:
        returned: list[Argument] = [Atom("RETURN"), [Atom("ALL")]] if extended else []
        charset: list[Argument] = [Atom("CHARSET"), Atom("UTF-8")] if _beyond_ascii(keys) else []
        words = line(Atom("UID"), Atom("SEARCH"), *returned, *charset, *(keys or [Atom("ALL")]))
        super().__init__("UID SEARCH", words)
        self._found = array("I")

    def take(self, response: Response) -> bool:
        match response:
            case SearchResult(numbers):
                self._found.extend(numbers)
            case ExtendedSearch(tag, all=uids) if tag in {None, self.tag}:
                self._found.extend(uids.listed() if uids is not None else ())
            case _:
                return False
        return True

    def result(self, done: Done) -> array[int]:
        ascending = all(map(lt, self._found, islice(self._found, 1, None)))
        return self._found if ascending else array("I", sorted(set(self._found)))


def _beyond_ascii(keys: Sequence[Argument]) -> bool:
    return any(
        not key.isascii() if isinstance(key, str | bytes) else isinstance(key, list | tuple) and _beyond_ascii(key)
        for key in keys
    )


class Store(Passing):
    """UID STORE +FLAGS or -FLAGS, without the flags coming back. (Replacing all flags isn't offered: Bridge loses later
    changes of them.) With `unchanged_since` the OK or NO names in MODIFIED those that were left as they are."""

    changes = True

    def __init__(self, uids: UidSet, flags: Sequence[str], *, add: bool, unchanged_since: int | None = None) -> None:
        word = Atom("+FLAGS.SILENT" if add else "-FLAGS.SILENT")
        # A number beyond what others may be: 63 bits.
        guard = [] if unchanged_since is None else [Verbatim(b"(UNCHANGEDSINCE %d)" % unchanged_since)]
        words = [Atom(flag) for flag in flags]
        super().__init__("UID STORE", line(Atom("UID"), Atom("STORE"), uids, *guard, word, words))
        self._uids = uids

    def take(self, response: Response) -> bool:
        """Once a session knows of versions, each change is told, silent or not (RFC 7162 §3.1.3)."""
        match response:
            case FetchRow(
                uid=uid,
                modseq=int(),
                internaldate=None,
                size=None,
                envelope=None,
                bodystructure=None,
                sections=sections,
            ):
                return not sections and uid in self._uids
        return False


class MarkDeleted(Passing):
    r"""UID STORE +FLAGS.SILENT (\Deleted), or its taking back: the first step of removing named messages."""

    changes = True

    def __init__(self, uids: UidSet, *, on: bool = True) -> None:
        word = Atom("+FLAGS.SILENT" if on else "-FLAGS.SILENT")
        super().__init__("UID STORE", line(Atom("UID"), Atom("STORE"), uids, word, [Atom("\\Deleted")]))


class Append(Plain):
    """APPEND of a whole message (RFC 9051 §6.3.12), as a synchronizing literal, without flags or a date of its own."""

    changes = True

    def __init__(self, to: str | bytes, message: bytes) -> None:
        super().__init__("APPEND", line(Atom("APPEND"), MailboxName(to), Literal(message)))


class _Placing(Ask["CopyUid | None"]):
    """COPY and MOVE: where the messages went, if the server says so (UIDPLUS); for MOVE in an untagged OK (RFC 6851).

    Dovecot runs pipelined MOVEs side by side, so an answer is taken only by the command that named its messages.
    """

    changes = True

    def __init__(self, word: str, uids: UidSet, to: str | bytes) -> None:
        super().__init__(f"UID {word}", line(Atom("UID"), Atom(word), uids, MailboxName(to)))
        self._places: CopyUid | None = None
        self._uids = uids

    def take(self, response: Response) -> bool:
        if not isinstance(response, Status) or response.code is None or not isinstance(response.code.value, CopyUid):
            return False
        places = response.code.value
        if self._places is not None or next(iter(places.source), 0) not in self._uids:
            return False
        self._places = places
        return True

    def result(self, done: Done) -> CopyUid | None:
        if done.code is not None and isinstance(done.code.value, CopyUid):
            return done.code.value
        return self._places


class Copy(_Placing):
    def __init__(self, uids: UidSet, to: str | bytes) -> None:
        super().__init__("COPY", uids, to)


class Move(_Placing):
    def __init__(self, uids: UidSet, to: str | bytes) -> None:
        super().__init__("MOVE", uids, to)


class Expunge(Plain):
    """UID EXPUNGE, of named messages only: a plain EXPUNGE would take what others marked."""

    changes = True

    def __init__(self, uids: UidSet) -> None:
        super().__init__("UID EXPUNGE", line(Atom("UID"), Atom("EXPUNGE"), uids))


class Create(Plain):
    changes = True

    def __init__(self, name: str | bytes) -> None:
        super().__init__("CREATE", line(Atom("CREATE"), MailboxName(name)))


class Rename(Plain):
    changes = True

    def __init__(self, name: str | bytes, to: str | bytes) -> None:
        super().__init__("RENAME", line(Atom("RENAME"), MailboxName(name), MailboxName(to)))


class Delete(Plain):
    """DELETE of a mailbox, with all that is in it."""

    changes = True

    def __init__(self, name: str | bytes) -> None:
        super().__init__("DELETE", line(Atom("DELETE"), MailboxName(name)))


class Subscribe(Plain):
    """SUBSCRIBE, or UNSUBSCRIBE."""

    def __init__(self, name: str | bytes, *, on: bool) -> None:
        word = "SUBSCRIBE" if on else "UNSUBSCRIBE"
        super().__init__(word, line(Atom(word), MailboxName(name)))
