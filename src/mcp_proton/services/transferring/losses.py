"""Losses: what a message does not keep on its way into another account, foreseen before it is asked for and seen afterwards.

Said in few words each, the same before and after, and never with anything a stranger wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Flag, Mailbox, Role
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.ports import MailBackend, Page, Standing
from mcp_proton.domain.query import All
from mcp_proton.mime import incoming
from mcp_proton.mime.likeness import Likeness

_PAGE = 500
_EVERYWHERE = frozenset({Flag.SEEN, Flag.FLAGGED, Flag.ANSWERED})
"""flags that every server keeps of what is put there"""
_NEVER = frozenset({Flag.DELETED.value, "recent"})
"""flags that are not carried: what is marked as deleted there is a message here"""
_WORD = re.compile(r"[A-Za-z0-9_$.+-]{1,64}")
_APART = 1.0
"""seconds that a date of receipt may differ by: servers keep whole ones"""
SEPARATOR, PREFIX = "; ", "not kept: "
Labels = Mapping[str, Sequence[str]]


def carried(flags: frozenset[str]) -> frozenset[str]:
    """Return the flags that are given to the other server."""
    return frozenset(flag for flag in flags - _NEVER if _WORD.fullmatch(flag))


async def labels_of(messages: Sequence[Envelope], ctx: Context) -> Labels:
    """Return the labels of messages, by what they are known again by; none that the caller may not look into."""
    wanted = {identity(one) for one in messages if one.message_id}
    found: dict[str, list[str]] = {}
    for account in sorted({one.handle.account for one in messages}):
        for box in await ctx.mailboxes(account):
            if box.role is Role.LABEL and box.selectable and not ctx.denies(Effect.LIST, account, box):
                for one in await _holding(box, wanted, ctx.backend(account)):
                    found.setdefault(one, []).append(box.name.replace(SEPARATOR.strip(), ","))
    return found


async def _holding(box: Mailbox, wanted: set[str], backend: MailBackend) -> set[str]:
    holding: set[str] = set()
    continuation = None
    while True:
        found = await backend.search([box], All(), Page(limit=_PAGE, continuation=continuation))
        holding |= {identity(row) for row in found.rows if row.message_id} & wanted
        continuation = found.continuation
        if continuation is None:
            return holding


def identity(envelope: Envelope) -> str:
    """Return what a message with a Message-ID is known again by."""
    return incoming.identity(envelope.message_id)


def foreseen(messages: Sequence[Envelope], labels: Labels, target: MailBackend) -> tuple[str, ...]:
    """Say what will be lost of messages, with how many each is about."""
    features = target.features()
    lines: list[str] = []
    if features.get("append_dates") is not Standing.AVAILABLE:
        dated = sum(differ(one.received, one.date) for one in messages)
        lines += [f"date of receipt, of {dated}: it will be that of the Date header"] if dated else []
    if features.get("keywords") is not Standing.AVAILABLE:
        flags = Counter(flag for one in messages for flag in carried(one.flags) - _EVERYWHERE - {Flag.DRAFT})
        lines += [f"flags, where the server does not keep them: {_counted(flags)}"] if flags else []
    marks = Counter(name for one in messages if one.message_id for name in labels.get(identity(one), ()))
    lines += [f"labels: {_counted(marks)}"] if marks else []
    return tuple(lines)


def review(lines: Sequence[str]) -> tuple[ReviewLine, ...]:
    """Show the owner what will be lost."""
    return tuple(ReviewLine("not kept", line, risk=True) for line in lines)


def of_one(was: Envelope, now: Envelope, labels: Labels, ours: Likeness, theirs: Likeness) -> list[str]:
    """Say what was lost of one message."""
    lost = ["date of receipt"] if differ(was.received, now.received) else []
    flags = sorted(flag for flag in was.flags - _NEVER - now.flags if _WORD.fullmatch(flag))
    lost += [f"flags {' '.join(flags)}"] if flags else []
    marks = labels.get(identity(was), ()) if was.message_id else ()
    lost += [f"labels {', '.join(marks)}"] if marks else []
    lost += ["what it answers"] if ours.thread != theirs.thread else []
    lost += ["names of attachments"] if ours.names != theirs.names else []
    return lost


def differ(one: datetime | None, other: datetime | None) -> bool:
    """Whether two dates are not the same; an unknown one differs from nothing."""
    return one is not None and other is not None and abs((one - other).total_seconds()) > _APART


def grouped(told: Mapping[Handle, str]) -> dict[str, list[str]]:
    """Tell what was lost of which, in few tokens: `all` where it is so of every one."""
    by_loss: dict[str, list[str]] = {}
    for handle, why in told.items():
        for one in filter(None, why.split(SEPARATOR)):
            by_loss.setdefault(one, []).append(str(handle))
    return {loss: ["all"] if len(some) == len(told) > 1 else some for loss, some in by_loss.items()}


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} of {count}" for name, count in counts.most_common(8))
