"""Labelling: a label is put on or taken off messages without disturbing another membership (P-57)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import MessageId
from mcp_proton.services.acting import foreseeing, looking
from mcp_proton.services.asking import matching, places
from mcp_proton.services.fields import MailboxField, ManyHandles, Preview
from mcp_proton.services.presenting.filed import Filed, filed, parsed

_MESSAGES = ["personal.ei5nnz.sd2egw-2n9c"]
_MOST_LOOKED_UP = 100
_NO_PLACES = frozenset({Role.LABEL, Role.STARRED, Role.NODE})


class LabelsApply(Request):
    """Put a label on messages. They stay where they are."""

    messages: ManyHandles
    label: MailboxField
    preview: Preview = False


class LabelsApplyMatching(matching.Matching):
    """Put a label on all messages that match a query."""

    label: MailboxField
    preview: Preview = False


class LabelsRemove(Request):
    """Take a label off messages. They stay where they are."""

    messages: ManyHandles
    label: MailboxField
    preview: Preview = False


async def apply(request: LabelsApply, ctx: Context) -> Filed:
    """Put it on, chunk by chunk."""

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        return await backend.label(handles, await places.label(request.label, source.account, ctx))

    return filed(await ctx.batch(parsed(request.messages), act, "labelling", provable=True), request.messages)


async def apply_plan(request: LabelsApply, ctx: Context) -> Finer:
    """What labelling does depends on the mailboxes' roles."""
    return await foreseeing.filing(request.messages, lambda _: ("label",), request.label, ctx)


async def apply_look(request: LabelsApply, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether they have it."""

    async def ask(backend: MailBackend, mine: Sequence[Fate]) -> Sequence[Fate]:
        return await backend.prove(mine, await places.label(request.label, mine[0].handle.account, ctx), age)

    return await looking.by_account(fates, ctx, ask)


def apply_back(request: LabelsApply, fates: Sequence[Fate]) -> Sequence[Request]:
    """Take it off those that got it; what had it already keeps it."""
    got = tuple(str(fate.now) for fate in fates if fate.now is not None)
    return [LabelsRemove(messages=got, label=request.label)] if got else ()


async def pin_occurrences(request: LabelsRemove, ctx: Context) -> LabelsRemove:
    """Turn every handle into the one of the label's own mailbox: only there it can be taken off alone."""
    found: dict[str, None] = {}
    for handle in dict.fromkeys(parsed(request.messages)):
        label = await places.label(request.label, handle.account, ctx)
        if handle.tag == label.tag:
            found[str(handle)] = None
    others = [one for one in dict.fromkeys(parsed(request.messages)) if str(one) not in found]
    if len(others) > _MOST_LOOKED_UP:
        raise Invalid(
            f"at most {_MOST_LOOKED_UP} handles of other mailboxes at once",
            code="too_many",
            next="list the label's own mailbox and use its handles",
        )
    for handle in others:
        found[str(await _in_label(handle, await places.label(request.label, handle.account, ctx), ctx))] = None
    return request.model_copy(update={"messages": tuple(found)})


async def _in_label(handle: Handle, label: Mailbox, ctx: Context) -> Handle:
    """Find the same message in the label's mailbox. The Message-ID only narrows it; the server's identity decides (P-90)."""
    backend = ctx.backend(handle.account)
    envelopes, known = await backend.envelopes([handle]), await backend.identify([handle])
    if envelopes and envelopes[0].message_id and handle in known:
        page = await backend.search([label], MessageId(envelopes[0].message_id), Page(limit=50))
        there = await backend.identify([one.handle for one in page.rows])
        same = [one for one, identity in there.items() if identity == known[handle]]
        if len(same) == 1:
            return same[0]
    raise Unsupported(
        "this message was not found in the label's mailbox",
        code="not_labelled",
        next="list the label's own mailbox and use its handle",
    )


async def remove(request: LabelsRemove, ctx: Context) -> Filed:
    """Take it off, chunk by chunk."""

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        return await backend.unlabel(handles)

    return filed(
        await ctx.batch(parsed(request.messages), act, "taking the label off", provable=True), request.messages
    )


async def remove_plan(request: LabelsRemove, ctx: Context) -> Finer:
    """Only a handle of the label's own mailbox is ever acted upon."""
    finer = await foreseeing.filing(request.messages, lambda _: ("unlabel",), None, ctx)
    for source, _ in await foreseeing.sources(request.messages, ctx):
        if source.tag != (await places.label(request.label, source.account, ctx)).tag:
            raise Invalid("a handle is not of the label's own mailbox", code="not_labelled")
    return finer


async def remove_look(request: LabelsRemove, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether it is off."""
    return await looking.gone(fates, age, ctx)


async def remove_found(request: LabelsRemove, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Find them by their identity: where everything is listed, or place by place where there is no such mailbox."""

    async def ask(backend: MailBackend, mine: Sequence[Fate]) -> Sequence[Fate]:
        boxes = await backend.mailboxes()
        everything = [box for box in boxes if box.role is Role.ALL]
        found: dict[Handle, Fate] = {}
        for box in everything or [box for box in boxes if box.role not in _NO_PLACES]:
            lost = [replace(fate, ending=Ending.UNCERTAIN, proof=None) for fate in mine if fate.handle not in found]
            proved = await backend.prove(lost, box, max(age, backend.lag))
            found |= {fate.handle: fate for fate in proved if fate.ending is Ending.DONE and fate.now is not None}
        return list(found.values())

    return await looking.by_account(fates, ctx, ask)


def remove_back(request: LabelsRemove, fates: Sequence[Fate]) -> Sequence[Request]:
    """Put it on again, wherever they are now."""
    lost = tuple(str(fate.now) for fate in fates if fate.now is not None)
    return [LabelsApply(messages=lost, label=request.label)] if lost else ()


async def apply_matching(request: LabelsApplyMatching, ctx: Context) -> LabelsApply:
    """Pin what matches."""
    return LabelsApply(messages=await matching.matched(request, ctx), label=request.label)


labels_apply = Operation(
    request=LabelsApply,
    result=Filed,
    effects=frozenset({Effect.ORGANIZE}),
    perform=apply,
    plan=apply_plan,
    look=apply_look,
    undo=apply_back,
    chunked=True,
    repeatable=True,
    example={"messages": _MESSAGES, "label": "Receipts"},
)

labels_apply_matching = Shorthand(
    request=LabelsApplyMatching,
    into=labels_apply,
    expand=apply_matching,
    prepares=matching.PREPARES,
    example={"query": "from:shop", "label": "Receipts", "preview": True},
)

labels_remove = Operation(
    request=LabelsRemove,
    result=Filed,
    effects=frozenset({Effect.ORGANIZE}),
    prepares=frozenset({Effect.LIST}),
    perform=remove,
    pin=pin_occurrences,
    plan=remove_plan,
    look=remove_look,
    found=remove_found,
    undo=remove_back,
    chunked=True,
    repeatable=True,
    example={"messages": _MESSAGES, "label": "Receipts"},
)
