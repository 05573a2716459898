"""Sending: a mail leaves once, exactly as it was approved, or it is said what is not certain (P-60, P-92, N-2)."""

from __future__ import annotations

from mcp_proton.domain.context import Context, Outgoing
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Finer, Operation
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.services import acquainted, afterwards, letters, reviewed
from mcp_proton.services.dispatching import power
from mcp_proton.services.posted import Posted, posted
from mcp_proton.services.written import Written, account_of, ready, scope_of, touched


class MailSend(Written):
    """Send a mail. Attach artifacts, messages or files."""


async def pin(request: MailSend, ctx: Context) -> MailSend:
    """Fix everything that could be otherwise tomorrow."""
    if not (request.to or request.cc or request.bcc):
        raise Invalid("a mail needs a recipient", next="give `to`")
    account = account_of(request, ctx)
    most = (await power(ctx.backend(account)).capacity()).submit
    return await letters.fix(request, ctx, most)


async def plan(request: MailSend, ctx: Context) -> Finer:
    """SEND in the account, what attaching touches, and of whom the owner should hear first."""
    account = account_of(request, ctx)
    impacts = {Impact(Effect.SEND, Scope(account)), *await touched(request, ctx)}
    thread = request.thread
    if thread is not None and thread.draft is not None:
        impacts.add(Impact(Effect.DRAFT, await scope_of(thread.draft, ctx)))
    answered = None if thread is None or thread.passed_on else thread.source
    recipients = letters.letter(request).recipients
    doubts = await acquainted.doubts(account, recipients, answered, ctx)
    return Finer(effects=frozenset(), impacts=frozenset(impacts), review=reviewed.lines(request, doubts), doubts=doubts)


async def send(request: MailSend, ctx: Context) -> Posted:
    """Compose it again, see that it is the same, hand it over once; then see to the copy in Sent."""
    account = account_of(request, ctx)
    letter = letters.letter(request)
    draft = None if request.thread is None or request.thread.draft is None else Handle.parse(request.thread.draft)
    async with letters.held(request, ctx, ctx.spool) as mail:
        sending = await ctx.send(Outgoing(account, letter, mail, mail.sha256, draft))
    care = await afterwards.seen_to(sending, request, ctx)
    return posted(care.sending, filed=care.filed, draft=care.draft)


mail_send = Operation(
    request=MailSend,
    result=Posted,
    effects=frozenset({Effect.SEND, Effect.READ, Effect.INGEST, Effect.DRAFT}),
    purpose=Effect.SEND,
    ready=ready,
    pin=pin,
    plan=plan,
    perform=send,
    example={"to": ["Anna <anna@example.org>"], "subject": "Lunch", "text": "Tomorrow at noon?"},
)
