"""Places: the mailboxes that a destination or a new path means."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import HOME, Home
from mcp_proton.services.fields import HOME_WORD

_HOMES = (Role.INBOX, Role.SENT, Role.DRAFTS)


async def destinations(reference: str, account: str, ctx: Context) -> Sequence[Mailbox]:
    """Return every mailbox in which a message may end that is sent there: three of them where its kind decides."""
    if reference != HOME_WORD:
        return [await ctx.mailbox(account, reference)]
    homes = [box for box in await ctx.mailboxes(account) if box.role in _HOMES]
    if not homes:
        raise NotFound("this account has no inbox", next="name a mailbox instead of home")
    return homes


async def destination(reference: str, account: str, ctx: Context) -> Mailbox | Home:
    """Return where to send a message, as backends take it."""
    return HOME if reference == HOME_WORD else await ctx.mailbox(account, reference)


async def new_mailbox(path: str, role: Role, account: str, ctx: Context) -> Mailbox:
    """Return the mailbox that a new path would be: where a server keeps folders or labels below a node, it is below it."""
    boxes = await ctx.mailboxes(account)
    delimiter = next((box.delimiter for box in boxes if box.delimiter), "/")
    node = next((box for box in boxes if box.role is Role.NODE and box.path.casefold() == f"{role}s"), None)
    parts = [part for part in path.replace("/", delimiter).split(delimiter) if part]
    if node is not None and (not parts or parts[0].casefold() != node.path.casefold()):
        parts = [node.path, *parts]
    full = delimiter.join(parts)
    return Mailbox(account, full, full, role, delimiter)


async def label(reference: str, account: str, ctx: Context) -> Mailbox:
    """Return a label. `Invalid` for a mailbox that is none."""
    box = await ctx.mailbox(account, reference)
    if box.role is not Role.LABEL:
        raise Invalid("this mailbox is not a label", code="not_a_label", next="`labels_list` names the labels")
    return box


async def folder(reference: str, account: str, ctx: Context) -> Mailbox:
    """Return a folder of the owner's making. `Invalid` for any other mailbox: those stay as they are."""
    box = await ctx.mailbox(account, reference)
    if box.role is not Role.FOLDER:
        raise Invalid("this mailbox is not a folder", code="not_a_folder", next="`mailboxes_list` says what each is")
    return box


async def exists(path: str, role: Role, account: str, ctx: Context) -> bool:
    """Look, now, whether there is a mailbox of that path and role."""
    boxes = await ctx.backend(account).mailboxes(fresh=True)
    return any(box.path == path and box.role is role for box in boxes)


async def renamed(old: str, new: str, role: Role, account: str, ctx: Context) -> bool | None:
    """Look whether one path took the other's place; None where both are there, or neither."""
    was, now = await exists(old, role, account, ctx), await exists(new, role, account, ctx)
    return now if was is not now else None


async def below(box: Mailbox, ctx: Context) -> Sequence[Mailbox]:
    """Return the mailboxes inside of one."""
    if not box.delimiter:
        return []
    return [one for one in await ctx.mailboxes(box.account) if one.path.startswith(box.path + box.delimiter)]
