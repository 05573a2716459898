"""Showing the owner which messages a waiting operation is about: who wrote what, marked as a stranger's words (N-6)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Envelope
from mcp_proton.domain.plan import Plan, ReviewLine
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.presenting.rows import people

SHOWN = 20
_log = logging.getLogger(__name__)


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
