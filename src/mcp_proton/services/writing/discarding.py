"""Discarding drafts: destroyed, or put into Trash where a server destroys no message by name (Gmail; IMAP without UIDPLUS)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.consequences import Consequence
from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import MailError, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.domain.ports import MailBackend, Standing


async def foreseen(box: Mailbox, ctx: Context) -> Consequence:
    """Return what becomes of a draft in this mailbox. Raises what stands in the way before anything else is done."""
    backend = ctx.backend(box.account)
    if not backend.trashes_drafts:
        return ctx.foresee(box.account, "destroy", box.role)
    if backend.features().get("move") is Standing.UNAVAILABLE:
        raise Unsupported(
            "this mail server can neither delete nor move a draft without touching others",
            next="nothing was done; drafts_create writes another, and a mail program can delete this one",
        )
    await ctx.mailbox(box.account, Role.TRASH.value)
    return ctx.foresee(box.account, "move", box.role, Role.TRASH)


async def discard(drafts: Sequence[Handle], backend: MailBackend) -> Sequence[Fate]:
    """Take drafts away, for good or into Trash. A fate for each, as `MailBackend.destroy` gives them."""
    if not backend.trashes_drafts:
        return await backend.destroy(drafts)
    trash = next((box for box in await backend.mailboxes() if box.role is Role.TRASH), None)
    if trash is None:
        return [Fate(one, Ending.FAILED, "no_such_mailbox", "this account has no Trash") for one in drafts]
    return await _seen(await backend.move(drafts, trash), backend)


async def _seen(fates: Sequence[Fate], backend: MailBackend) -> Sequence[Fate]:
    """Believe no word of it for a draft that is where it was: what Gmail does with drafts was tried by nobody here."""
    moved = [fate.handle for fate in fates if fate.ending is Ending.DONE]
    try:
        there = {row.handle for row in await backend.envelopes(moved)} if moved else set()
    except MailError:
        there = set()
    why = "the server says that it is in Trash, and it is in Drafts still"
    return [Fate(one.handle, Ending.FAILED, "not_done", why) if one.handle in there else one for one in fates]
