"""Folders: nested, made, renamed, moved and deleted; what becomes of their mail is said before (P-58)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result, Shorthand
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.plan import Impact, ReviewLine, Scope
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.asking import places
from mcp_proton.services.fields import Account, MailboxField, NewFolder, Stranger


class FoldersCreate(Request):
    """Make a folder, and those above it that are missing."""

    folder: NewFolder
    account: Account = None


class FoldersRename(Request):
    """Rename a folder: a new name, or a whole new path."""

    folder: MailboxField
    to: NewFolder
    account: Account = None


class FoldersMove(Request):
    """Move a folder, with all below it, into another."""

    folder: MailboxField
    into: MailboxField
    account: Account = None


class FoldersDelete(Request):
    """Delete an empty folder."""

    folder: MailboxField
    account: Account = None


class Folder(Result):
    """The folder as it is now. Handles into a folder that was renamed are stale."""

    folder: Stranger


async def create(request: FoldersCreate, ctx: Context) -> Folder:
    """Make it."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.folder, Role.FOLDER, name, ctx)
    return Folder(folder=(await ctx.backend(name).create(wanted.path, Role.FOLDER)).path)


async def create_plan(request: FoldersCreate, ctx: Context) -> Finer:
    """Making a folder changes nothing that is there."""
    wanted = await places.new_mailbox(request.folder, Role.FOLDER, ctx.account(request.account), ctx)
    row = await foreseeing.mailbox("create", wanted, ctx)
    return Finer(effects=row.effects, review=(ReviewLine(f"folder {wanted.path}", row.result),))


def create_back(request: FoldersCreate, fates: Sequence[Fate]) -> Sequence[Request]:
    """Delete it again, which works while it is empty."""
    return [FoldersDelete(folder=request.folder, account=request.account)]


async def pin_path(request: FoldersCreate, ctx: Context) -> FoldersCreate:
    """Fix the whole path."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.folder, Role.FOLDER, name, ctx)
    return request.model_copy(update={"folder": wanted.path, "account": name})


async def pin_paths(request: FoldersRename, ctx: Context) -> FoldersRename:
    """Fix both paths: a bare name stays beside the old one."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    parent = box.path.rpartition(box.delimiter)[0] if box.delimiter else ""
    bare = "/" not in request.to and (not box.delimiter or box.delimiter not in request.to)
    to = f"{parent}{box.delimiter}{request.to}" if bare and parent else request.to
    wanted = await places.new_mailbox(to, Role.FOLDER, name, ctx)
    return request.model_copy(update={"folder": box.path, "to": wanted.path, "account": name})


async def rename(request: FoldersRename, ctx: Context) -> Folder:
    """Rename it; what is below follows."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    return Folder(folder=(await ctx.backend(name).rename(box, request.to)).path)


async def rename_plan(request: FoldersRename, ctx: Context) -> Finer:
    """Everything below is touched as well: a rule about an inner folder is not got around by renaming the outer one."""
    box = await places.folder(request.folder, ctx.account(request.account), ctx)
    row = await foreseeing.mailbox("rename", box, ctx)
    inner = await places.below(box, ctx)
    return Finer(
        effects=row.effects,
        impacts=frozenset(Impact(effect, _scope(one)) for effect in row.effects for one in inner),
        review=(ReviewLine(f"folder {box.path}", f"{row.result}; {await _contents(box, inner, ctx)} follow"),),
    )


def rename_back(request: FoldersRename, fates: Sequence[Fate]) -> Sequence[Request]:
    """Give it its old path."""
    return [FoldersRename(folder=request.to, to=request.folder, account=request.account)]


async def move(request: FoldersMove, ctx: Context) -> FoldersRename:
    """Moving is a new path."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    into = await ctx.mailbox(name, request.into)
    return FoldersRename(folder=box.path, to=f"{into.path}{into.delimiter or '/'}{box.name}", account=name)


async def delete(request: FoldersDelete, ctx: Context) -> Folder:
    """Delete it."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    await ctx.backend(name).remove(box)
    return Folder(folder=box.path)


async def pin_deletion(request: FoldersDelete, ctx: Context) -> FoldersDelete:
    """Fix its path, so that it can be looked for when it is gone."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    return request.model_copy(update={"folder": box.path, "account": name})


async def delete_plan(request: FoldersDelete, ctx: Context) -> Finer:
    """A folder that holds something is not deleted: its mail would be in no place afterwards, or gone."""
    name = ctx.account(request.account)
    box = await places.folder(request.folder, name, ctx)
    row = await foreseeing.mailbox("remove", box, ctx)
    inner = await places.below(box, ctx)
    total = await _total(box, ctx)
    if inner or total:
        raise Conflict(
            f"this folder holds {await _contents(box, inner, ctx)}",
            code="not_empty",
            next="move its messages and folders elsewhere first",
        )
    return Finer(
        effects=row.effects, review=(ReviewLine(f"folder {box.path}", f"{row.result}; it is empty", risk=True),)
    )


async def created(request: FoldersCreate, ctx: Context) -> bool:
    """Look whether it is there."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.folder, Role.FOLDER, name, ctx)
    return await places.exists(wanted.path, Role.FOLDER, name, ctx)


async def renamed(request: FoldersRename, ctx: Context) -> bool | None:
    """Look which of the two names there is."""
    return await places.renamed(request.folder, request.to, Role.FOLDER, ctx.account(request.account), ctx)


async def deleted(request: FoldersDelete, ctx: Context) -> bool:
    """Look whether it is gone."""
    return not await places.exists(request.folder, Role.FOLDER, ctx.account(request.account), ctx)


async def _total(box: Mailbox, ctx: Context) -> int:
    return next((one.total or 0 for one in await ctx.counted(box.account) if one.tag == box.tag), 0)


async def _contents(box: Mailbox, inner: Sequence[Mailbox], ctx: Context) -> str:
    return f"{await _total(box, ctx)} messages and {len(inner)} folders"


def _scope(box: Mailbox) -> Scope:
    return Scope(box.account, box.path, box.role)


folders_create = Operation(
    request=FoldersCreate,
    result=Folder,
    effects=frozenset({Effect.ORGANIZE}),
    perform=create,
    pin=pin_path,
    plan=create_plan,
    happened=created,
    undo=create_back,
    example={"folder": "Travel/2026"},
)

folders_rename = Operation(
    request=FoldersRename,
    result=Folder,
    effects=frozenset({Effect.ORGANIZE}),
    perform=rename,
    pin=pin_paths,
    plan=rename_plan,
    happened=renamed,
    undo=rename_back,
    example={"folder": "Travel", "to": "Trips"},
)

folders_move = Shorthand(
    request=FoldersMove, into=folders_rename, expand=move, example={"folder": "Travel", "into": "Archive 2025"}
)

folders_delete = Operation(
    request=FoldersDelete,
    result=Folder,
    effects=frozenset({Effect.DELETE_FOLDER}),
    perform=delete,
    pin=pin_deletion,
    plan=delete_plan,
    happened=deleted,
    example={"folder": "Travel"},
)
