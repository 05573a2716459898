"""Flags between IMAP's spelling and ours: `\\Seen` is `seen`, `$Forwarded` is `forwarded`, other keywords stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

_TO_IMAP = {
    Flag.SEEN: "\\Seen",
    Flag.FLAGGED: "\\Flagged",
    Flag.ANSWERED: "\\Answered",
    Flag.DRAFT: "\\Draft",
    Flag.DELETED: "\\Deleted",
    Flag.FORWARDED: "$Forwarded",
}
_FROM_IMAP = {word.lower(): flag.value for flag, word in _TO_IMAP.items()} | {"forwarded": Flag.FORWARDED.value}
_KEYWORD = re.compile(r"[A-Za-z0-9_$.+-]{1,64}")
_HIDDEN = frozenset({"\\recent"})
_SEARCHES = {
    Flag.SEEN: "SEEN",
    Flag.FLAGGED: "FLAGGED",
    Flag.ANSWERED: "ANSWERED",
    Flag.DRAFT: "DRAFT",
    Flag.DELETED: "DELETED",
}


def ours(flags: Iterable[str]) -> frozenset[str]:
    r"""The flags of a row in our words. `\Recent` says nothing of the message and is left out."""
    return frozenset(_FROM_IMAP.get(flag.lower(), flag) for flag in flags if flag.lower() not in _HIDDEN)


def theirs(flag: str) -> str:
    """One of our words (or a keyword) as IMAP spells it. Raises `Invalid` for what no flag can be."""
    known = _TO_IMAP.get(flag)  # type: ignore[call-overload]  # a StrEnum key is found by its plain string
    if known is not None:
        return str(known)
    if not _KEYWORD.fullmatch(flag):
        raise Invalid("a keyword has 1 to 64 letters, digits or any of `_ $ . + -`", code="invalid_flag")
    return flag


def search_key(flag: str) -> tuple[str, ...]:
    """The words of the SEARCH key that finds exactly the messages with this flag (RFC 9051 §6.4.4)."""
    system = _SEARCHES.get(flag)  # type: ignore[call-overload]  # as above
    return (str(system),) if system is not None else ("KEYWORD", theirs(flag))


def is_permitted(flag: str, permanent: Iterable[str] | None) -> bool:
    r"""Whether a server that answered these PERMANENTFLAGS keeps `flag`; without an answer all are kept (RFC 9051 §7.1)."""
    if permanent is None:
        return True
    words = {word.lower() for word in permanent}
    return theirs(flag).lower() in words or ("\\*" in words and not theirs(flag).startswith("\\"))
