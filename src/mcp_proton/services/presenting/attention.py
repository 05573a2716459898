"""Which messages want a person's attention: simple local rules that say their own reasons. No model (P-08)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mcp_proton.domain.mail import Envelope, Flag

_MACHINE = re.compile(
    r"^(no-?reply|do-?not-?reply|donotreply|notifications?|newsletter|news|mailer-daemon|postmaster|bounces?|alerts?|"
    r"updates?|marketing|info|support|billing|receipts?|invoices?|service)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？؟;]\s*$|[?？؟]")
_FRESH = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Ranked:
    """An envelope with its score (higher wants attention sooner) and the reasons for it, strongest first."""

    envelope: Envelope
    score: int
    reasons: tuple[str, ...]


def rank(envelopes: Iterable[Envelope], mine: frozenset[str], now: datetime) -> list[Ranked]:
    """Order envelopes by score, then newest first. `mine` are the owner's own addresses, case-folded."""
    ranked = [_judge(one, mine, now) for one in envelopes]
    return sorted(ranked, key=lambda one: (one.score, _when(one.envelope)), reverse=True)


def is_person(envelope: Envelope) -> bool:
    """Whether the sender looks like a person: an address that is not one of those that machines write from."""
    if not envelope.sender:
        return False
    local, _, domain = envelope.sender[0].email.partition("@")
    return bool(domain) and not _MACHINE.match(local)


def _judge(one: Envelope, mine: frozenset[str], now: datetime) -> Ranked:
    rules = (
        (40, "flagged", Flag.FLAGGED in one.flags),
        (30, "from a person", is_person(one)),
        (20, "unread", Flag.SEEN not in one.flags),
        (15, "to you alone", _to_me(one, mine) and len(one.to) + len(one.cc) == 1),
        (10, "to you", _to_me(one, mine) and len(one.to) + len(one.cc) > 1),
        (10, "asks a question", bool(_QUESTION.search(one.subject))),
        (10, "part of a conversation", bool(one.in_reply_to)),
        (5, "new", now - _when(one) < _FRESH),
        (-30, "answered", Flag.ANSWERED in one.flags),
    )
    holding = [(points, reason) for points, reason, holds in rules if holds]
    return Ranked(one, sum(points for points, _ in holding), tuple(reason for _, reason in holding))


def _to_me(one: Envelope, mine: frozenset[str]) -> bool:
    return any(address.email.casefold() in mine for address in one.to)


def _when(one: Envelope) -> datetime:
    return one.received or one.date or datetime.min.replace(tzinfo=UTC)
