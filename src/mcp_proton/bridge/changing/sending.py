"""One COPY or MOVE on Bridge: the list made fresh and the write as the very next command, sent once, its answer read.

The answer alone proves little. NO need not mean that nothing was done, and OK without COPYUID means that nothing was
moved or that the message was taken out of its destination. Only COPYUID naming just what was sent is a yes, and
even that is the view of this Bridge until the next event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.imap.changing import placing
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol.asks import Ask
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.codes import CopyUid

PAGE = 150
"""messages in one command: one call of Proton's API, so that none is half done"""
FRESH = 60.0
"""seconds after which NOOP is not enough: a forced resync is told by SELECT only"""

Answer: TypeAlias = "CopyUid | MailError | None"


async def place(box: Box, command: type[commands.Copy | commands.Move], uids: Sequence[int], to: Mailbox) -> Answer:
    """Send it, once. Returns what COPYUID named, None for an OK that named nothing, or what went wrong; raises nothing.

    INVARIANT: at most a page of UIDs, each once, and nothing between NOOP (or SELECT) and the write.
    """
    write = command(UidSet.of(uids), wire_name(to))
    if box.age() > FRESH:
        try:
            await box.look_again()
        except MailError as error:
            return error
        asks: list[Ask[object]] = [write]
    else:
        asks = [commands.Noop(), write]
    return _meaning(list(await box.attempt(asks))[-1])


def _meaning(answer: object) -> Answer:
    """BAD and an unknown destination: nothing was done. Any other NO: nobody knows."""
    if not isinstance(answer, Rejected):
        return answer  # type: ignore[return-value]  # what COPY and MOVE yield, or an error
    if answer.answer == "BAD" or answer.response_code == "TRYCREATE":
        return placing.of_refusal(answer)
    return placing.unsure(answer.command)


def ends_it(answer: Answer) -> bool:
    """Whether it is unwise to go on with more messages: the server, or Proton behind it, is in trouble."""
    return isinstance(answer, MailError)


def never_sent(answer: Answer) -> bool:
    """Whether it is certain that nothing was done."""
    return isinstance(answer, Unavailable | Rejected) or (isinstance(answer, MailError) and answer.status != "unsure")
