"""Sending: a mail leaves once, exactly as it was approved, or it is said what is not certain (P-60, P-92, N-2)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcp_proton.domain.context import Context, Outgoing
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.mime.composing.invitation import Response, answered
from mcp_proton.mime.composing.reply import Answer
from mcp_proton.mime.composing.reply import forward as passed_on
from mcp_proton.mime.composing.reply import reply as begun
from mcp_proton.mime.hypertext import html as mime_html
from mcp_proton.services.fields import Mark, OneHandle, Text
from mcp_proton.services.presenting import invitations
from mcp_proton.services.presenting.posted import Posted, posted
from mcp_proton.services.writing import (
    acquainted,
    afterwards,
    answering,
    identities,
    letters,
    redrafting,
    repeats,
    reviewed,
)
from mcp_proton.services.writing.addressees import MOST, Recipients, Sender
from mcp_proton.services.writing.dispatching import power
from mcp_proton.services.writing.written import (
    Attach,
    Attachments,
    Body,
    Thread,
    Written,
    account_of,
    made,
    ready,
    scope_of,
    touched,
)

NoReply = Annotated[bool, Field(description="even to an address that takes no answers")]


class MailSend(Written):
    """Send a mail. Attach artifacts, messages, files or URLs."""


class MailReply(Request):
    """Reply to the sender of a message."""

    message: OneHandle
    text: Body
    html: Annotated[Body | None, Mark.TEXT] = None
    cc: Recipients = ()
    attach: Attachments = ()
    sender: Annotated[Sender, Field(alias="from")] = None
    quote: bool = True
    no_reply: NoReply = False


class MailReplyAll(Request):
    """Reply to everyone a message went to."""

    message: OneHandle
    text: Body
    html: Annotated[Body | None, Mark.TEXT] = None
    attach: Attachments = ()
    sender: Annotated[Sender, Field(alias="from")] = None
    quote: bool = True
    no_reply: NoReply = False


class MailForward(Request):
    """Pass a message on with its attachments, inline or as a file."""

    message: OneHandle
    to: Recipients
    cc: Recipients = ()
    text: Body = ""
    mode: Literal["inline", "attached"] = "inline"
    attachments: Annotated[bool, Field(description="carry its attachments along")] = True
    sender: Annotated[Sender, Field(alias="from")] = None


class DraftsSend(Request):
    """Send a draft as it is."""

    draft: OneHandle
    digest: redrafting.Digest


class InvitationsAnswer(Request):
    """Answer an invitation by mail to its organizer."""

    message: OneHandle
    response: Annotated[Response, Mark.TOKEN]
    comment: Text = ""
    sender: Annotated[Sender, Field(alias="from")] = None


async def pin(request: MailSend, ctx: Context) -> MailSend:
    """Fix everything that could be otherwise tomorrow."""
    named = len(request.to) + len(request.cc) + len(request.bcc)
    if named == 0:
        raise Invalid("a mail needs a recipient", next="give `to`")
    if named > MOST:
        raise Invalid(f"a mail has at most {MOST} recipients", code="too_many_recipients", next="send it in several")
    account = account_of(request, ctx)
    most = (await power(ctx.backend(account)).capacity()).submit
    fixed = await letters.fix(request, ctx, most)
    await repeats.foresee(account, letters.letter(fixed), ctx)
    return fixed


async def plan(request: MailSend, ctx: Context) -> Finer:
    """SEND in the account, what attaching touches, and of whom the owner should hear first."""
    account = account_of(request, ctx)
    impacts = {Impact(Effect.SEND, Scope(account)), *await touched(request, ctx)}
    thread = request.thread
    if thread is not None and thread.draft is not None:
        impacts.add(Impact(Effect.DRAFT, await scope_of(thread.draft, ctx)))
    answered = None if thread is None or thread.passed_on else thread.source
    recipients = letters.letter(request).recipients
    unfamiliar = await acquainted.unfamiliar(account, recipients, answered, ctx)
    return Finer(
        effects=frozenset(),
        impacts=frozenset(impacts),
        review=reviewed.lines(request, unfamiliar),
        unfamiliar=unfamiliar,
    )


async def send(request: MailSend, ctx: Context) -> Posted:
    """Compose it again, see that it is the same, hand it over once; then see to the copy in Sent."""
    account = account_of(request, ctx)
    letter = letters.letter(request)
    draft = None if request.thread is None or request.thread.draft is None else Handle.parse(request.thread.draft)
    async with letters.held(request, ctx, ctx.spool) as mail:
        sending = await ctx.send(Outgoing(account, letter, mail, mail.sha256, draft))
        care = await afterwards.seen_to(sending, request, mail, ctx)
    return posted(care.sending, filed=care.filed, draft=care.draft)


async def reading(request: Request, ctx: Context) -> Finer:
    """Getting an answer ready reads the message it answers, and what is attached."""
    message: str = request.message  # type: ignore[attr-defined]  # every answer has one
    read = Impact(Effect.READ, await scope_of(message, ctx))
    return Finer(effects=frozenset(), impacts=await touched(request, ctx) | {read})


async def reply(request: MailReply, ctx: Context) -> MailSend:
    """To Reply-To, else From; to oneself never."""
    found = await answering.source(request.message, request.sender, ctx, page=request.html is not None)
    return _answer(request, found, begun(found.original, found.own, no_reply=request.no_reply), request.cc)


async def reply_all(request: MailReplyAll, ctx: Context) -> MailSend:
    """To everybody but oneself, each once."""
    found = await answering.source(request.message, request.sender, ctx, page=request.html is not None)
    return _answer(request, found, begun(found.original, found.own, everyone=True, no_reply=request.no_reply), ())


def _answer(
    request: MailReply | MailReplyAll, found: answering.Source, answer: Answer, cc: tuple[str, ...]
) -> MailSend:
    people = answering.whom(answer.recipients)
    html = request.html
    said = request.text if request.text.strip() or html is None else mime_html.to_text(html).text
    text = said.rstrip("\n") + letters.signature(found.sender)
    if request.quote:
        text = answer.quote.below(text)
        html = None if html is None else answer.quote.below_html(html)
    return made(
        MailSend,
        to=tuple(map(str, people.to)),
        cc=(*map(str, people.cc), *cc),
        subject=answer.subject,
        text=text,
        html=html,
        attach=request.attach,
        account=found.handle.account,
        thread=Thread(
            source=request.message,
            in_reply_to=answer.in_reply_to,
            references=answer.references,
            quoted=answer.quote.text if request.quote else "",
        ),
        **{"from": found.sender.email},
    )


async def forward(request: MailForward, ctx: Context) -> MailSend:
    """Below one's own words, or whole as a file."""
    inline = request.mode == "inline"
    found = await answering.source(request.message, request.sender, ctx, page=inline)
    passed = passed_on(found.original)
    text = request.text.rstrip("\n") + letters.signature(found.sender)
    page = passed.quote.below_html(letters.as_html(text)) if inline and found.original.html is not None else None
    carried = [Attach(message=request.message, index=one.index) for one in found.read.attachments]
    return made(
        MailSend,
        to=request.to,
        cc=request.cc,
        subject=passed.subject,
        text=passed.quote.below(text) if inline else text,
        html=page,
        attach=tuple(carried if request.attachments else ()) if inline else (Attach(message=request.message),),
        account=found.handle.account,
        thread=Thread(
            source=request.message,
            references=passed.references,
            passed_on=True,
            quoted=passed.quote.text if inline else "",
        ),
        **{"from": found.sender.email},
    )


async def reading_draft(request: DraftsSend, ctx: Context) -> Finer:
    """Getting it ready reads the draft."""
    return Finer(effects=frozenset(), impacts=frozenset({Impact(Effect.READ, await scope_of(request.draft, ctx))}))


async def send_draft(request: DraftsSend, ctx: Context) -> MailSend:
    """As it is stored, with what the server did not keep of it. It is gone once the mail has left (P-59, A-24)."""
    stored = await redrafting.unchanged(request.draft, request.digest, ctx)
    if stored.unfinished:
        raise Invalid(
            "this draft has recipients that are no addresses yet",
            code="unfinished_recipients",
            next="finish them with drafts_update, or leave them out there",
        )
    letter, thread = stored.letter, stored.thread or Thread()
    anchor = await power(ctx.backend(stored.handle.account)).anchor(stored.handle)
    named = (anchor,) if anchor is not None else ()  # before the parent's: the last one is the parent
    return MailSend(
        to=tuple(map(str, letter.to)),
        cc=tuple(map(str, letter.cc)),
        bcc=tuple(map(str, letter.bcc)),
        subject=letter.subject,
        text=letter.text,
        html=letter.html,
        attach=stored.attached(),
        account=stored.handle.account,
        thread=thread.model_copy(update={"draft": request.draft, "references": (*named, *thread.references)}),
        **{"from": await redrafting.sender(stored, ctx)},
    )


async def answer_invitation(request: InvitationsAnswer, ctx: Context) -> MailSend:
    """To the organizer, as the address that was invited."""
    handle = Handle.parse(request.message)
    backend = ctx.backend(handle.account)
    known = {one.email: one for one in await backend.identities()}
    invited = await invitations.octets(backend, handle)
    told = answered(
        invited,
        request.response,
        own=list(known),
        now=ctx.clock.now(),
        comment=request.comment,
        sender=None if request.sender is None else identities.choose(list(known.values()), request.sender).email,
    )
    found = await answering.source(request.message, told.sender, ctx)
    answer = begun(found.original, found.own, no_reply=True)
    return made(
        MailSend,
        to=(str(told.organizer),),
        subject=told.subject,
        text=told.text,
        account=handle.account,
        thread=Thread(
            source=request.message,
            in_reply_to=answer.in_reply_to,
            references=answer.references,
            calendar=told.calendar,
        ),
        **{"from": told.sender},
    )


mail_send = Operation(
    request=MailSend,
    result=Posted,
    effects=frozenset({Effect.SEND, Effect.READ, Effect.INGEST, Effect.FETCH, Effect.DRAFT}),
    purpose=Effect.SEND,
    ready=ready,
    pin=pin,
    plan=plan,
    perform=send,
    example={"to": ["Anna <anna@example.org>"], "subject": "Lunch", "text": "Tomorrow at noon?"},
)

_MESSAGE = "personal.ei5nnz.sd2egw-2n9c"

mail_reply = Shorthand(
    request=MailReply,
    into=mail_send,
    expand=reply,
    ready=reading,
    example={"message": _MESSAGE, "text": "Gladly."},
)

mail_reply_all = Shorthand(
    request=MailReplyAll,
    into=mail_send,
    expand=reply_all,
    ready=reading,
    example={"message": _MESSAGE, "text": "Gladly."},
)

mail_forward = Shorthand(
    request=MailForward,
    into=mail_send,
    expand=forward,
    ready=reading,
    example={"message": _MESSAGE, "to": ["anna@example.org"], "text": "For you."},
)

drafts_send = Shorthand(
    request=DraftsSend,
    into=mail_send,
    expand=send_draft,
    ready=reading_draft,
    example={"draft": _MESSAGE, "digest": "0" * 32},
)

invitations_answer = Shorthand(
    request=InvitationsAnswer,
    into=mail_send,
    expand=answer_invitation,
    ready=reading,
    example={"message": _MESSAGE, "response": "accepted"},
)
