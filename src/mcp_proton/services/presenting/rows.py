"""How a message is shown in a list: one compact row, the same in every operation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.mail import Address, Envelope, Flag
from mcp_proton.domain.operation import Result
from mcp_proton.domain.ports import Coverage, Covered
from mcp_proton.services.fields import Stranger
from mcp_proton.services.presenting.answers import instant

SHOWN_ADDRESSES = 5


class Row(Result):
    """One occurrence in a list. Flags are there only when they say something."""

    handle: str
    date: str | None = None
    sender: Annotated[Stranger, Field(alias="from")] = ""
    to: Stranger = ""
    subject: Stranger = ""
    unread: bool = False
    flagged: bool = False
    answered: bool = False
    draft: bool = False
    attachments: bool = False
    mailbox: str | None = None
    why: list[str] = []
    excerpt: Stranger = ""


class CoveredMailbox(Result):
    """What of one mailbox was looked at."""

    mailbox: str
    looked_at: int
    of: int | None = None
    uids: str = ""


class Reach(Result):
    """How far the answer can be relied upon."""

    complete: bool
    order: str = ""
    code: str | None = None
    why: str | None = None
    mailboxes: list[CoveredMailbox] = []
    by_server: list[str] = []
    by_us: list[str] = []


def row(
    envelope: Envelope,
    *,
    outgoing: bool = False,
    mailbox: str | None = None,
    why: Iterable[str] = (),
    excerpt: str = "",
) -> Row:
    """Show an envelope. `outgoing` shows to whom instead of from whom."""
    when, flags = envelope.received or envelope.date, envelope.flags
    side, whom = ("to", (*envelope.to, *envelope.cc)) if outgoing else ("from", envelope.sender)
    return Row.model_validate(
        {
            "handle": str(envelope.handle),
            "date": instant(when) if when else None,
            side: people(whom),
            "subject": envelope.subject,
            "unread": Flag.SEEN not in flags,
            "flagged": Flag.FLAGGED in flags,
            "answered": Flag.ANSWERED in flags,
            "draft": Flag.DRAFT in flags,
            "attachments": bool(envelope.has_attachments),
            "mailbox": mailbox,
            "why": list(why),
            "excerpt": excerpt,
        }
    )


def people(addresses: Iterable[Address], *, most: int = SHOWN_ADDRESSES) -> str:
    """Name addresses as `Name <a@b>`, the first few and how many more."""
    listed = [str(one) for one in addresses]
    shown = ", ".join(listed[:most])
    return f"{shown} and {len(listed) - most} more" if len(listed) > most else shown


def reach(coverage: Coverage, *, brief: bool = False) -> Reach:
    """Tell a coverage. `brief` leaves out the details of a complete answer."""
    details = not (brief and coverage.complete)
    return Reach(
        complete=coverage.complete,
        order=coverage.order,
        code=coverage.code,
        why=coverage.why,
        mailboxes=[_covered(one) for one in coverage.mailboxes] if details else [],
        by_server=list(coverage.by_server) if details else [],
        by_us=list(coverage.by_us) if details else [],
    )


def _covered(one: Covered) -> CoveredMailbox:
    return CoveredMailbox(mailbox=one.mailbox, looked_at=one.looked_at, of=one.of, uids=one.ranges)


def shown_at(moment: datetime | None) -> str | None:
    """Format an instant that may be missing."""
    return instant(moment) if moment else None
