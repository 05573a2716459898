"""To whom an answer goes, as a careful person would address it (A-21, A-22).

Never to oneself, never twice to one person, never to an address that takes no answers unless that was asked for. What
is left out is told. The addresses are a stranger's word: whether they may be written to is for the owner's rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_proton.mime.composing.addressing import label, usable
from mcp_proton.mime.header.addresses import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_proton.domain.mail import Address
    from mcp_proton.mime.header.headers import Headers

_NO_REPLY = re.compile(
    r"(?:\A|[^a-z])(?:no[-_.]?(?:reply|replies|response|responder)|do?n[o']?t[-_.]?reply|do[-_.]not[-_.]reply"
    r"|(?:nicht[-_.]?antworten|keine[-_.]?antwort|ne[-_.]?pas[-_.]?repondre|nao[-_.]?responda|non[-_.]?rispondere)"
    r"|mailer[-_.]?daemon|bounces?)(?![a-z])"
)
_MAILTO = re.compile(r"<\s*mailto:([^?>]{1,254})", re.IGNORECASE)


class Reason(StrEnum):
    """Why somebody whom the original names is not written to."""

    NO_REPLY = "no_reply"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An address that is not written to, and why."""

    address: Address
    reason: Reason


@dataclass(frozen=True, slots=True)
class Recipients:
    """Whom to write to. `to` is empty where nobody is left. `to_list`: a mailing list reads it too."""

    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    to_list: bool = False


class Own:
    """The owner's addresses, recognised in any case and with any `+tag`."""

    def __init__(self, emails: Iterable[str]) -> None:
        self._plain = {_plain(one) for one in emails}

    def __contains__(self, email: str) -> bool:
        return _plain(email) in self._plain

    def others(self, given: Iterable[Address]) -> tuple[Address, ...]:
        """Return everybody else."""
        return tuple(one for one in given if one.email not in self)


def recipients(headers: Headers, own: Iterable[str], *, everyone: bool = False, no_reply: bool = False) -> Recipients:
    """Return whom a reply to the mail with these headers goes to; `everyone`: all whom it was sent to as well.

    Reply-To, else From; a reply to one's own mail goes where that mail went. `own` are the owner's addresses.
    `no_reply=True` writes to addresses that say they take no answers, too.
    """
    mine = Own(own)
    to, cc = _addressed(headers, mine, everyone=everyone)
    posts = {one.casefold() for one in posting_addresses(headers)}
    chosen = _Chosen(mine, no_reply=no_reply)
    to, cc = chosen.take(to), chosen.take(cc)
    if not to and not cc and not chosen.left_out:
        to = tuple(one for one in _people(headers, "From")[:1] if usable(one))  # a note to oneself
    if not to:
        to, cc = cc, ()
    return Recipients(to, cc, tuple(chosen.left_out), any(one.email.casefold() in posts for one in (*to, *cc)))


def posting_addresses(headers: Headers) -> tuple[str, ...]:
    """Return where a mailing list takes its mail (List-Post, RFC 2369 §3.4)."""
    return tuple(_MAILTO.findall((headers.get("List-Post") or b"").decode("utf-8", "replace")))


def addressed_as(headers: Headers, own: Sequence[str]) -> str | None:
    """Return the one address of the owner's that the mail was sent to (or from), spelled as in `own`.

    None where there is none, or more than one: the sender of an answer is never chosen by the order of a list (J-137).
    """
    for fields in (("From",), ("To", "Cc"), ("Delivered-To", "X-Original-To", "Envelope-To")):
        named = [one.email for field in fields for one in _people(headers, field)]
        found = [mine for mine in own if any(email in Own([mine]) for email in named)]
        exact = [mine for mine in found if mine.casefold() in {email.casefold() for email in named}]
        if found:
            return next(iter(exact or found)) if len(exact or found) == 1 else None
    return None


def _addressed(headers: Headers, mine: Own, *, everyone: bool) -> tuple[tuple[Address, ...], tuple[Address, ...]]:
    """Return whom the answer is meant for, and who else is to read it, as the original says."""
    sender, to, cc = _people(headers, "From"), _people(headers, "To"), _people(headers, "Cc")
    asked = mine.others(_people(headers, "Reply-To"))
    followers = mine.others(_people(headers, "Mail-Followup-To"))
    if everyone and followers and (headers.get("List-Post") or headers.get("List-Id")):
        return followers, ()
    written_by_me = bool(sender) and not mine.others(sender)
    if written_by_me and mine.others((*to, *cc)):
        return (to, cc if everyone or not mine.others(to) else ())
    return asked or sender, (*to, *cc) if everyone else ()


def _people(headers: Headers, name: str) -> tuple[Address, ...]:
    return addresses(b", ".join(headers.all(name)))


class _Chosen:
    """Takes each person once."""

    def __init__(self, mine: Own, *, no_reply: bool) -> None:
        self.mine = mine
        self.no_reply = no_reply
        self.seen: set[str] = set()
        self.left_out: list[LeftOut] = []

    def take(self, given: Iterable[Address]) -> tuple[Address, ...]:
        """Return who of these is written to and was not taken before."""
        return tuple(one for one in self.mine.others(given) if self._is_new(one) and self._is_answerable(one))

    def _is_new(self, one: Address) -> bool:
        spelled = (one.email or one.name).casefold()
        new = spelled not in self.seen
        self.seen.add(spelled)
        return new

    def _is_answerable(self, one: Address) -> bool:
        reason = Reason.UNUSABLE if not usable(one) else Reason.NO_REPLY if takes_no_answers(one.email) else None
        if reason is None or (reason is Reason.NO_REPLY and self.no_reply):
            return True
        self.left_out.append(LeftOut(one, reason))
        return False


def takes_no_answers(email: str) -> bool:
    """Whether an address says of itself that nobody reads what is sent there."""
    return _NO_REPLY.search(email.rpartition("@")[0].lower()) is not None


def _plain(email: str) -> str:
    local, _, domain = email.casefold().rpartition("@")
    return f"{local.partition('+')[0] or local}@{label(domain) or domain}"
