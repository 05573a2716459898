"""Response codes (RFC 9051 §7.1, RFC 4315, RFC 7162), the bracketed word of OK, NO, BAD and BYE, as frozen values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.protocol.rows import flag_set
from mcp_proton.imap.protocol.uids import UidSet


@dataclass(frozen=True, slots=True)
class AppendUid:
    """Where an APPEND went. One message a command, so `uids` holds one."""

    uidvalidity: int
    uids: UidSet


@dataclass(frozen=True, slots=True)
class CopyUid:
    """Where a COPY or MOVE went: `source` and `target` name the same messages in the same order."""

    uidvalidity: int
    source: UidSet
    target: UidSet

    def pairs(self) -> dict[int, int]:
        """Source UID → target UID. Raises ProtocolViolation if the server named unequal numbers of them."""
        if len(self.source) != len(self.target):
            raise ProtocolViolation("the mail server named more copies than messages, or fewer")
        return dict(zip(self.source.listed(), self.target.listed(), strict=True))


CodeValue: TypeAlias = "int | frozenset[str] | AppendUid | CopyUid | UidSet | None"


@dataclass(frozen=True, slots=True)
class Code:
    """`name` in upper case. `value` is typed for the codes this client knows; `raw` is what followed the name."""

    name: str
    value: CodeValue = None
    raw: bytes = b""


_CODE = re.compile(rb"\[([A-Za-z0-9.=/_+-]{1,60})(?: ((?:\([^()]*+\)|[^\]\r\n])*+))?\] ?")
_NUMBERS = frozenset({"UIDVALIDITY", "UIDNEXT", "UNSEEN", "HIGHESTMODSEQ"})


def split(text: bytes) -> tuple[Code | None, bytes]:
    """A status text as its code and the words for people. A code that makes no sense is only its name."""
    found = _CODE.match(text)
    if found is None:
        return None, text
    name, raw = found[1].decode("ascii").upper(), found[2] or b""
    return Code(name, _value(name, raw), raw), text[found.end() :]


def _value(name: str, raw: bytes) -> CodeValue:
    if name in _NUMBERS:
        return int(raw) if raw.isdigit() and len(raw) < 20 else None
    if name in {"PERMANENTFLAGS", "BADCHARSET"}:
        return flag_set(raw.strip(b"() ").split())
    if name == "CAPABILITY":
        return capabilities(raw)
    words = raw.split()
    try:
        if name == "APPENDUID" and len(words) == 2:
            return AppendUid(_validity(words[0]), UidSet.parse(words[1]))
        if name == "COPYUID" and len(words) == 3:
            return CopyUid(_validity(words[0]), UidSet.parse(words[1]), UidSet.parse(words[2]))
        if name == "MODIFIED" and len(words) == 1:
            return UidSet.parse(words[0])
    except ProtocolViolation:
        return None
    return None


def capabilities(words: bytes) -> frozenset[str]:
    """Capability names in upper case (they are compared without case)."""
    return frozenset(word.decode("ascii", "replace").upper() for word in words.split())


def _validity(word: bytes) -> int:
    if not word.isdigit() or len(word) > 10:
        raise ProtocolViolation("the mail server sent a UIDVALIDITY that is none")
    return int(word)
