"""Repeats: before a mail leaves, whether the server would take it for a repeat and drop it without a word (N-2, B-04).

Two witnesses are asked: what we remember of our own mail, and Sent, for what another program sent. Another program's mail
whose copy in Sent is gone cannot be seen.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.context import Context, Outgoing
from mcp_proton.domain.errors import Conflict, MailError
from mcp_proton.domain.mail import Envelope, Role
from mcp_proton.domain.outgoing import Letter, Repetition
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import Received, fold
from mcp_proton.domain.sendings import Sending, Stage
from mcp_proton.mime.structure import selecting
from mcp_proton.services.presenting import content
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.writing.addressees import key

if TYPE_CHECKING:
    from mcp_proton.services.door.call import Call

REMEMBERED = timedelta(days=1)
"""How long a mail whose end is not known stands in the way of one that says the same."""
DROPPED = timedelta(minutes=30)
"""How long a server that drops repeats does so (B-04); it is asked itself before a mail leaves."""
_LOOKED_AT = 50


async def foresee(account: str, letter: Letter, ctx: Context) -> None:
    """Raise what `check` would raise for mail of our own, before the owner is asked about it."""
    now = ctx.clock.now()
    for one in await ctx.sendings.alike(account, now - REMEMBERED, content=content_of(letter)):
        if one.stage in (Stage.BEGUN, Stage.UNKNOWN):
            raise _unknown(one)
        if one.key is not None and one.stage is not Stage.NOT_SENT and one.begun > now - DROPPED:
            raise _suppressed(one.begun + DROPPED, f"operation {one.operation}")


async def check(call: Call, mail: Outgoing, said: str, repetition: Repetition | None) -> None:
    """Raise `Conflict` where the same was sent, or may have been sent, a moment ago."""
    now = call.clock.now()
    for one in await call.sendings.alike(mail.account, now - REMEMBERED, content=said):
        if one.stage in (Stage.BEGUN, Stage.UNKNOWN):
            raise _unknown(one)
    if repetition is None:
        return
    since = now - repetition.within
    ours = await call.sendings.alike(mail.account, since, key=repetition.key)
    first = next((one for one in reversed(ours) if one.stage is not Stage.NOT_SENT), None)
    if first is not None:
        raise _suppressed(first.begun + repetition.within, f"operation {first.operation}")
    other = await _in_sent(call, mail, since)
    if other is not None:
        when = other.received or other.date or now
        raise _suppressed(when + repetition.within, f"message {other.handle} in Sent")


def content_of(letter: Letter) -> str:
    """Return what two letters have in common that say the same to the same people, whatever their Message-IDs and dates."""
    said = [
        sorted(letter.recipients),
        letter.subject,
        letter.text,
        letter.html,
        [one.sha256 for one in letter.enclosures],
        letter.calendar,
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


async def _in_sent(call: Call, mail: Outgoing, since: datetime) -> Envelope | None:
    """Return a mail in Sent that says the same to the same people. A server that cannot be asked has not said no."""
    backend = call.backend(mail.account)
    boxes = [box for box in await call.mailboxes(mail.account) if box.role is Role.SENT]
    if not boxes:
        return None
    found = await backend.search(boxes, Received(since=since), Page(limit=_LOOKED_AT))
    for row in found.rows:
        if _same_envelope(row, mail.letter) and await _same_content(backend, row, mail.letter):
            return row
    return None


def _same_envelope(row: Envelope, letter: Letter) -> bool:
    there = {key(one.email) for one in (*row.to, *row.cc, *row.bcc)}
    return fold(row.subject).strip() == fold(letter.subject).strip() and there == {
        key(one) for one in letter.recipients
    }


async def _same_content(backend: MailBackend, row: Envelope, letter: Letter) -> bool:
    """Compare what a person reads and the names of the attachments: the server may have written the rest anew."""
    try:
        there = await content.read(backend, row.handle)
    except MailError:
        return False
    attached = {one.filename for one in selecting.attachments(there.root)}
    ours = {one.filename for one in letter.enclosures}
    return _words(there.text) == _words(letter.text) and attached == ours


def _words(text: str) -> list[str]:
    return text.split()


def _suppressed(until: datetime, earlier: str) -> Conflict:
    return Conflict(
        f"this server would drop this as a repeat without a word: the same went out before ({earlier})",
        code="would_be_suppressed",
        next=f"nothing was sent; if it is meant to go out twice, change a word, or wait until {instant(until)}",
    )


def _unknown(one: Sending) -> Conflict:
    return Conflict(
        f"the same may have been sent already: how operation {one.operation} ended is not known",
        code="may_be_sent_already",
        next=f"nothing was sent; call operations_reconcile with {one.operation} first",
    )
