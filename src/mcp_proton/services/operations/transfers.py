"""Transfers: messages into another account, over any protocols, each copy proved before anything is removed (N-13).

The journal is the manifest: what it says of a message, and where its copy is, is durable before the next chunk is begun.
Asked for again, a transfer goes on: what is there already and is the same is not brought twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, MailError
from mcp_proton.domain.handles import SLUG, Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request
from mcp_proton.domain.outcome import Ending, Fate, Proof, Tally
from mcp_proton.domain.plan import Impact, ReviewLine, Scope
from mcp_proton.domain.ports import MailBackend
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.asking.moving import MessagesMove
from mcp_proton.services.fields import MailboxField, ManyHandles, Mark, Ours, Preview, Text
from mcp_proton.services.presenting.filed import Filed, filed, parsed
from mcp_proton.services.transferring import bringing, carrying, losses
from mcp_proton.services.transferring.arrivals import looked, trashed
from mcp_proton.services.transferring.carrying import Carrying
from mcp_proton.services.transferring.present import named, parted

STEP = 20
"""Messages a step: both accounts are held for no longer than that."""
SOURCE_KEPT, WAS_THERE = "source_kept", "was_there"
Target = Annotated[str, Field(pattern=rf"^{SLUG}$"), Mark.ACCOUNT]


class MessagesTransfer(Request):
    """Copy messages into another account. `move`: then trash them here."""

    messages: ManyHandles
    account: Target
    to: MailboxField
    move: bool = False
    preview: Preview = False
    losses: Annotated[tuple[Text, ...], Mark.TEXT, Ours()] = ()


class Transferred(Filed):
    """How it ended; every copy that is called done was read again and is the same. `lost`: what of which was not kept.

    `withheld`: what a copy lacks where its source does not give it out; the original has it.
    """

    kept: str
    lost: dict[str, list[str]] = {}
    withheld: list[str] = []


async def ready(request: MessagesTransfer, ctx: Context) -> Finer:
    """Getting ready reads what is to be carried, and nothing else."""
    found = await foreseeing.sources(request.messages, ctx)
    return Finer(effects=frozenset(), impacts=frozenset(Impact(Effect.READ, _scope(box)) for box, _ in found))


async def pin(request: MessagesTransfer, ctx: Context) -> MessagesTransfer:
    """Fix the destination, and what will not be kept."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    envelopes = await carrying.seen(parsed(request.messages), ctx)
    lines = losses.foreseen(envelopes, await losses.labels_of(envelopes, ctx), ctx.backend(box.account))
    lines = (*lines, *foreseeing.withheld(request.messages, ctx))
    return request.model_copy(update={"to": box.path, "losses": lines})


async def plan(request: MessagesTransfer, ctx: Context) -> Finer:
    """Two accounts are judged: what leaves one, and is trashed there, and what comes into the other."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    row = await foreseeing.mailbox("append", box, ctx)
    impacts = {Impact(effect, _scope(box)) for effect in row.effects | {Effect.IMPORT}}
    lines: list[ReviewLine] = []
    sources = await foreseeing.sources(request.messages, ctx)
    for source, count in sources:
        if source.account == box.account:
            raise Invalid("these are in that account already", next="messages_copy and messages_move are for that")
        impacts |= {Impact(effect, _scope(source)) for effect in (Effect.READ, Effect.EXPORT)}
        way = f"{count} from {source.account}/{source.path} to {box.account}/{box.path}"
        lines.append(ReviewLine(way, row.result))
    if request.move:
        leaving = {(box.account, box.tag): box for box, _ in sources if box.role is not Role.TRASH}
        handles = [str(one) for one in parsed(request.messages) if (one.account, one.tag) in leaving]
        finer = await foreseeing.filing(handles, lambda _: ("move",), Role.TRASH.value, ctx)
        for source in leaving.values():
            places = (source, await ctx.mailbox(source.account, Role.TRASH.value))
            impacts |= {Impact(effect, _scope(place)) for effect in finer.effects or () for place in places}
        lines += [replace(one, label=f"afterwards {one.label}") for one in finer.review]
    return Finer(effects=frozenset(), impacts=frozenset(impacts), review=(*lines, *losses.review(request.losses)))


def _scope(box: Mailbox) -> Scope:
    return Scope(box.account, box.path, box.role)


async def transfer(request: MessagesTransfer, ctx: Context) -> Transferred:
    """Carry them, one after the other. What is put into one account takes turns: each sees what the one before it did."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    handles = parsed(request.messages)
    earlier = await bringing.earlier(ctx)
    async with ctx.writing(f"{box.account} imports"):
        carrying = await Carrying.begun(box, handles, ctx)

        async def act(backend: MailBackend, source: Mailbox, items: Sequence[Handle]) -> Sequence[Fate]:
            over = [fate for one in items if (fate := earlier.get(one)) and fate.ending is Ending.DONE]
            left = [one for one in items if one not in {it.handle for it in over}]
            fates = await bringing.in_turn(left, lambda item: carrying.one(item, backend))
            return [*over, *(await _removed(fates, backend, source, ctx) if request.move else fates)]

        tally = await ctx.batch(handles, act, "transferring", known=carrying.identify, step=STEP, into=box.account)
        row = await foreseeing.mailbox("append", box, ctx)
    return _told(tally, request, row.result, foreseeing.withheld(request.messages, ctx))


async def _removed(fates: Sequence[Fate], backend: MailBackend, source: Mailbox, ctx: Context) -> list[Fate]:
    """Put into Trash what is proved to be there, and nothing else. INVARIANT: no other original is touched."""
    proved = {fate.handle: fate for fate in fates if _is_proved(fate)}
    if source.role is Role.TRASH or not proved:
        return [_moved(fate, None) for fate in fates]
    trash = await ctx.mailbox(source.account, Role.TRASH.value)
    try:
        told = {one.handle: one for one in await backend.move(list(proved), trash)}
    except MailError as error:
        told = {one: Fate.of_error(one, error) for one in proved}
    return [_moved(fate, told.get(fate.handle)) if fate.handle in proved else fate for fate in fates]


def _is_proved(fate: Fate) -> bool:
    """By its ending alone: a server that refuses one as there already has proved nothing."""
    return fate.ending in (Ending.DONE, Ending.SKIPPED)


def _moved(fate: Fate, removal: Fate | None) -> Fate:
    """Return the fate of the whole from those of its halves."""
    if not _is_proved(fate):
        return fate
    done = fate if fate.ending is Ending.DONE else replace(fate, ending=Ending.DONE, code=WAS_THERE)
    if removal is None or (removal.ending is Ending.SKIPPED and removal.code == "already_there"):
        return done
    identity, there = parted(done.identity)
    done = replace(done, identity=named(identity, removal.identity or there))
    if removal.ending is Ending.DONE:
        proof = Proof.COPYUID if Proof.COPYUID in (done.proof, removal.proof) else done.proof
        return replace(done, proof=proof, code=removal.code or done.code)
    if removal.ending is Ending.UNCERTAIN:
        why = "its copy is proved; whether the original was trashed is not known"
        return replace(done, ending=Ending.UNCERTAIN, code="outcome_unknown", why=why, proof=None)
    why = f"its copy is proved; the original was left where it is ({removal.why or removal.code})"
    return replace(done, ending=Ending.FAILED, code=SOURCE_KEPT, why=why, proof=None)


async def look(request: MessagesTransfer, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look which of them are there, and where the originals are."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    return await looked(fates, box, settled=age >= bringing.SETTLED, age=age, moved=request.move, ctx=ctx)


async def originals(request: MessagesTransfer, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Find the originals in Trash, for taking back: of each that is there two fates, what it was and what it became."""
    if not request.move:
        return fates
    back = await trashed(fates, ctx)
    there = {one.handle for one in back}
    return [*back, *(one for one in fates if one.handle in there)]


def take_back(request: MessagesTransfer, fates: Sequence[Fate]) -> Sequence[Request]:
    """Originals go back to where they were, then the copies into Trash; what was there before the transfer stays."""
    back: dict[tuple[str, str], list[str]] = {}
    copies: list[str] = []
    for fate in fates:
        if fate.now is not None and fate.now.account == fate.handle.account:
            back.setdefault((fate.handle.account, fate.handle.tag), []).append(str(fate.now))
        elif fate.now is not None and fate.code != WAS_THERE:
            copies.append(str(fate.now))
    restored = [MessagesMove(messages=tuple(some), to=tag) for (_, tag), some in back.items()]
    return [*restored, *([MessagesMove(messages=tuple(copies), to=Role.TRASH.value)] if copies else [])]


def _told(tally: Tally, request: MessagesTransfer, kept: str, withheld: Sequence[str]) -> Transferred:
    told = filed(tally, request.messages)
    lost = {
        fate.now: fate.why.removeprefix(losses.PREFIX) if fate.why and fate.why.startswith(losses.PREFIX) else ""
        for fate in tally.done
        if fate.now is not None
    }
    return Transferred(**told.model_dump(), kept=kept, lost=losses.grouped(lost), withheld=list(withheld))


messages_transfer = Operation(
    request=MessagesTransfer,
    result=Transferred,
    effects=frozenset({Effect.READ, Effect.EXPORT, Effect.IMPORT, Effect.DRAFT, Effect.ORGANIZE, Effect.DESTROY}),
    purpose=Effect.IMPORT,
    perform=transfer,
    ready=ready,
    pin=pin,
    plan=plan,
    look=look,
    undo=take_back,
    found=originals,
    outlined=frozenset({"account", "to", "move"}),
    chunked=True,
    repeatable=True,
    example={"messages": ["personal.ei5nnz.sd2egw-2n9c"], "account": "work", "to": "archive"},
)
