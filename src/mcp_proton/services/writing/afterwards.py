"""Afterwards: what is seen to once a mail has left: one copy in Sent, the mark on what it answers, the draft it came from.

None of it can make a mail that left one that did not: what fails here is told, and nothing more (A-45).
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError, NotFound, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Flag, Role
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.domain.outgoing import Octets, Trace
from mcp_proton.domain.ports import FlagChange, MailBackend
from mcp_proton.domain.sendings import Sending, Stage
from mcp_proton.services.spooling import spooled
from mcp_proton.services.writing import discarding, letters
from mcp_proton.services.writing.dispatching import power
from mcp_proton.services.writing.written import Written

_log = logging.getLogger(__name__)
_SEEN = frozenset({Flag.SEEN.value})


@dataclass(frozen=True, slots=True)
class Care:
    """What came of it: the sending as known now, why there is no copy in Sent, what became of the draft."""

    sending: Sending
    filed: str | None = None
    draft: str | None = None


async def seen_to(sending: Sending, request: Written, mail: Octets, ctx: Context) -> Care:
    """See to everything, one after the other. `mail` is what left."""
    if sending.stage not in (Stage.ACCEPTED, Stage.FOUND):
        return Care(sending)
    backend, filed = ctx.backend(sending.account), None
    if sending.stage is Stage.ACCEPTED:
        sending, filed = await _filed(sending, request, mail, backend, ctx)
    await _marked(request, backend, ctx)
    sending, draft = await _draft(sending, backend, ctx)
    return Care(sending, filed, draft)


async def _filed(
    sending: Sending, request: Written, mail: Octets, backend: MailBackend, ctx: Context
) -> tuple[Sending, str | None]:
    """Find the copy in Sent; where the server makes none, put one there, once."""
    submits = power(backend)
    try:
        found = await submits.trace(sending.message_id, sending.begun)
        if found.sent is None and not submits.files_sent:
            found = Trace(await _append(request, mail, backend, ctx))
    except MailError as error:
        _log.info("the copy of a mail that left is not in Sent: %s", error.message)
        return sending, error.code
    if found.sent is None:
        sending = replace(sending, looked=ctx.clock.now())
    else:
        sending = replace(sending, stage=Stage.FOUND, sent=found.sent)
    await _kept(sending, ctx)
    return sending, None


async def _append(request: Written, mail: Octets, backend: MailBackend, ctx: Context) -> Handle:
    """Put a copy into Sent: what left, and where others are hidden from the recipients, who they are."""
    account = ctx.account(request.account)
    box = next((one for one in await ctx.mailboxes(account) if one.role is Role.SENT), None)
    if box is None:
        raise NotFound("this account has no mailbox for what was sent", code="no_sent_mailbox")
    async with AsyncExitStack() as held:
        if request.bcc:
            mail = await held.enter_async_context(spooled(letters.octets(request, ctx, bcc=True), ctx.spool))
        await held.enter_async_context(ctx.writing(account))
        return await backend.append(box, mail, flags=_SEEN)


async def _marked(request: Written, backend: MailBackend, ctx: Context) -> None:
    """Mark what was answered or passed on, where the server does not do it and the caller may."""
    thread = request.thread
    if thread is None or thread.source is None or power(backend).marks_answered:
        return
    source = Handle.parse(thread.source)
    flag = Flag.FORWARDED if thread.passed_on else Flag.ANSWERED
    try:
        if ctx.allows(Effect.ORGANIZE, source.account, await ctx.mailbox_of(source)):
            async with ctx.writing(source.account):
                await ctx.backend(source.account).set_flags([source], FlagChange(add=frozenset({flag.value})))
    except MailError as error:
        _log.info("what was answered could not be marked: %s", error.message)


async def _draft(sending: Sending, backend: MailBackend, ctx: Context) -> tuple[Sending, str | None]:
    """Remove the draft the mail was made from; a server that ties them together does so by itself, in its own time."""
    if sending.draft is None:
        return sending, None
    try:
        if await power(backend).anchor(sending.draft) is not None:
            return sending, "the server removes it"
        async with ctx.writing(sending.account):
            fate = (await discarding.discard([sending.draft], backend))[0]
    except Stale:
        fate = Fate.done(sending.draft)
    except MailError as error:
        return sending, f"still there: {error.code}"
    if fate.ending is not Ending.DONE:
        return sending, f"still there: {fate.code}"
    sending = replace(sending, draft=None)
    await _kept(sending, ctx)
    return sending, "moved to Trash" if backend.trashes_drafts else "removed"


async def _kept(sending: Sending, ctx: Context) -> None:
    try:
        await ctx.sendings.write(sending)
    except MailError as error:
        _log.warning("where a mail that left is could not be written: %s", error.message)
