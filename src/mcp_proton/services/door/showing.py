"""Showing the owner what waits: everything it would do, and which messages it is about, marked as a stranger's words (N-6).

It is looked up when the owner looks. What was seen when it was asked is kept beside the request, for an account that cannot be
looked into by then; resuming plans again whatever was shown, and does nothing where that has changed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Envelope
from mcp_proton.domain.plan import Plan, ReviewLine
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.presenting.rows import people

SHOWN = 20
_LISTED = 50
_log = logging.getLogger(__name__)


def lines(planned: Plan) -> tuple[ReviewLine, ...]:
    """Return a line for each effect, message, recipient, file and risk."""
    effects = sorted(planned.impacts, key=lambda one: (one.effect, one.scope.mailbox or ""))
    more = len(planned.targets) > _LISTED
    return (
        *(
            ReviewLine(one.effect.meaning, f"{one.scope.account or ''} {one.scope.mailbox or ''}".strip())
            for one in effects
        ),
        *(ReviewLine("message", str(handle)) for handle in planned.targets[:_LISTED]),
        *([ReviewLine("messages", f"{len(planned.targets)} in all")] if more else []),
        *(ReviewLine("to", one, untrusted=True) for one in planned.recipients),
        *(ReviewLine("file", str(path)) for path in planned.paths),
        *planned.review,
    )


async def kept(planned: Plan, world: World) -> str:
    """Return the lines as they are now, to be kept. Which messages they are is kept for accounts of callers alone."""
    theirs = tuple(handle for handle in planned.targets if world.settings.of_caller(handle.account))
    found = await messages(Plan(targets=theirs), world) if theirs else ()
    told = lines(planned | Plan(review=found))
    return json.dumps([[one.label, one.value, one.untrusted, one.risk] for one in told], ensure_ascii=False)


def as_asked(text: str, why: MailError) -> tuple[ReviewLine, ...]:
    """Return lines that were kept, led by why they are not of now."""
    told = f"{why.message}. If anything has changed since, it will not be done"
    return (ReviewLine("as it was when it was asked", told), *(ReviewLine(*one) for one in json.loads(text)))


async def messages(planned: Plan, world: World) -> tuple[ReviewLine, ...]:
    """Return a line for each of the first messages. Where the server cannot be asked, the plan stands without them."""
    lines: list[ReviewLine] = []
    for account in sorted({handle.account for handle in planned.targets}):
        mine = [handle for handle in planned.targets if handle.account == account][:SHOWN]
        try:
            found: Sequence[Envelope] = await world.accounts.backend(account).envelopes(mine)
        except MailError as error:
            _log.info("the messages of a waiting operation cannot be shown: %s", error.message)
            continue
        lines += [_line(one) for one in found]
    return tuple(lines)


def _line(one: Envelope) -> ReviewLine:
    when = one.received or one.date
    at = f"{instant(when)} " if when else ""
    return ReviewLine("which is", f"{at}{people(one.sender)}: {one.subject}", untrusted=True)
