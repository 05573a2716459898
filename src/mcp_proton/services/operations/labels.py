"""Labels: membership without moving. One is put on or taken off without disturbing another (P-57)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.mime.neutral import neutralise
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.asking import places
from mcp_proton.services.fields import Account, MailboxField, NewLabel, Stranger


class LabelsList(Request):
    """List labels with counts."""

    account: Account = None


class LabelsCreate(Request):
    """Make a label."""

    label: NewLabel
    account: Account = None


class LabelsRename(Request):
    """Rename a label. Its messages keep it."""

    label: MailboxField
    to: NewLabel
    account: Account = None


class LabelsDelete(Request):
    """Delete a label. Its messages stay where they are."""

    label: MailboxField
    account: Account = None


class ListedLabel(Result):
    """One label. `id` is there where the path had to be changed to be shown; use it instead."""

    label: Stranger
    id: str | None = None
    total: int | None = None
    unread: int | None = None


class LabelList(Result):
    """The labels this caller may list."""

    account: str
    labels: list[ListedLabel] = []


class MadeLabel(Result):
    """The label as it is now."""

    label: Stranger


async def list_labels(request: LabelsList, ctx: Context) -> LabelList:
    """List what the caller may list."""
    name = ctx.account(request.account)
    boxes = await ctx.backend(name).mailboxes(counts=True, fresh=True)
    mine = [box for box in boxes if box.role is Role.LABEL and not ctx.denies(Effect.LIST, name, box)]
    return LabelList(account=name, labels=[_listed(box) for box in sorted(mine, key=lambda box: box.path.casefold())])


def _listed(box: Mailbox) -> ListedLabel:
    changed = neutralise(box.path) != box.path
    return ListedLabel(label=box.path, id=box.tag if changed else None, total=box.total, unread=box.unread)


async def create(request: LabelsCreate, ctx: Context) -> MadeLabel:
    """Make it."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.label, Role.LABEL, name, ctx)
    return MadeLabel(label=(await ctx.backend(name).create(wanted.path, Role.LABEL)).path)


async def create_plan(request: LabelsCreate, ctx: Context) -> Finer:
    """Whether there are labels at all is in the table."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.label, Role.LABEL, name, ctx)
    row = await foreseeing.mailbox("create", wanted, ctx)
    return Finer(effects=row.effects, review=(ReviewLine(f"label {wanted.path}", row.result),))


async def rename(request: LabelsRename, ctx: Context) -> MadeLabel:
    """Rename it."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    wanted = await places.new_mailbox(request.to, Role.LABEL, name, ctx)
    return MadeLabel(label=(await ctx.backend(name).rename(box, wanted.path)).path)


async def rename_plan(request: LabelsRename, ctx: Context) -> Finer:
    """The old path and the new one are both touched."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    row = await foreseeing.mailbox("rename", box, ctx)
    return Finer(effects=row.effects, review=(ReviewLine(f"label {box.path}", row.result),))


def rename_back(request: LabelsRename, fates: Sequence[Fate]) -> Sequence[Request]:
    """Give it its old name. A label named by its tag has another tag by now, and no old name is known."""
    return [LabelsRename(label=request.to, to=request.label, account=request.account)]


async def pin_label(request: LabelsRename, ctx: Context) -> LabelsRename:
    """Fix both names as paths."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    wanted = await places.new_mailbox(request.to, Role.LABEL, name, ctx)
    return request.model_copy(update={"label": box.path, "to": wanted.path, "account": name})


async def delete(request: LabelsDelete, ctx: Context) -> MadeLabel:
    """Delete it."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    await ctx.backend(name).remove(box)
    return MadeLabel(label=box.path)


async def pin_deletion(request: LabelsDelete, ctx: Context) -> LabelsDelete:
    """Fix its path, so that it can be looked for when it is gone."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    return request.model_copy(update={"label": box.path, "account": name})


async def delete_plan(request: LabelsDelete, ctx: Context) -> Finer:
    """Say how many messages lose it."""
    name = ctx.account(request.account)
    box = await places.label(request.label, name, ctx)
    row = await foreseeing.mailbox("remove", box, ctx)
    total = next((one.total for one in await ctx.counted(name) if one.tag == box.tag), None)
    count = "its messages lose it and stay" if total is None else f"{total} messages lose it and stay"
    return Finer(effects=row.effects, review=(ReviewLine(f"label {box.path}", f"{row.result}; {count}", risk=True),))


async def created(request: LabelsCreate, ctx: Context) -> bool:
    """Look whether it is there."""
    name = ctx.account(request.account)
    wanted = await places.new_mailbox(request.label, Role.LABEL, name, ctx)
    return await places.exists(wanted.path, Role.LABEL, name, ctx)


async def renamed(request: LabelsRename, ctx: Context) -> bool | None:
    """Look which of the two names there is."""
    return await places.renamed(request.label, request.to, Role.LABEL, ctx.account(request.account), ctx)


async def deleted(request: LabelsDelete, ctx: Context) -> bool:
    """Look whether it is gone."""
    return not await places.exists(request.label, Role.LABEL, ctx.account(request.account), ctx)


labels_list = Operation(
    request=LabelsList,
    result=LabelList,
    effects=frozenset({Effect.LIST}),
    perform=list_labels,
    repeatable=True,
    example={},
)

labels_create = Operation(
    request=LabelsCreate,
    result=MadeLabel,
    effects=frozenset({Effect.ORGANIZE}),
    perform=create,
    plan=create_plan,
    happened=created,
    example={"label": "Receipts"},
)

labels_rename = Operation(
    request=LabelsRename,
    result=MadeLabel,
    effects=frozenset({Effect.ORGANIZE}),
    perform=rename,
    pin=pin_label,
    plan=rename_plan,
    happened=renamed,
    undo=rename_back,
    example={"label": "Receipts", "to": "Bills"},
)

labels_delete = Operation(
    request=LabelsDelete,
    result=MadeLabel,
    effects=frozenset({Effect.DELETE_LABEL}),
    perform=delete,
    pin=pin_deletion,
    plan=delete_plan,
    happened=deleted,
    example={"label": "Receipts"},
)
