"""Vacation: the answer that the mail server gives by itself, where it has such a thing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.powers import Vacation
from mcp_proton.services.asking.powers import power
from mcp_proton.services.fields import MOST_TEXT, Account, Mark, Stranger, Text, When, when
from mcp_proton.services.presenting.answers import instant

_ANSWER = "answer mail by itself"
Words = Annotated[Text | None, Mark.TEXT]


class VacationGet(Request):
    """Show the automatic reply, on or off."""

    account: Account = None


class VacationUpdate(Request):
    """Switch the automatic reply on or off.

    Text and subject left out stay; dates left out are open.
    """

    enabled: bool
    text: Words = None
    subject: Words = None
    since: When = None
    until: When = None
    account: Account = None


class AutomaticReply(Result):
    """The reply as the server has it. It goes to whoever writes while it is on, and only between the dates."""

    enabled: bool | str
    text: Stranger = ""
    subject: Stranger = ""
    since: str | None = None
    until: str | None = None


async def get(request: VacationGet, ctx: Context) -> AutomaticReply:
    """Ask the server (J-45)."""
    name = ctx.account(request.account)
    return _told(await power(name, "vacation", _ANSWER, ctx).vacation())


async def pin(request: VacationUpdate, ctx: Context) -> VacationUpdate:
    """Fix what would be sent: who is asked sees the very words."""
    name = ctx.account(request.account)
    now = await power(name, "vacation", _ANSWER, ctx).vacation()
    text = _kept(now.text, "text") if request.text is None else request.text
    since, until = _moment(request.since, "since", ctx), _moment(request.until, "until", ctx)
    if request.enabled and not text.strip():
        raise Invalid("an automatic reply needs a text", code="invalid_vacation", next="give `text`")
    if since is not None and until is not None and until <= since:
        raise Invalid("`until` is not after `since`", code="invalid_vacation")
    if request.enabled and until is not None and until <= ctx.clock.now():
        raise Invalid("`until` is over already", code="invalid_vacation")
    fixed = {
        "text": text,
        "subject": _kept(now.subject, "subject") if request.subject is None else request.subject,
        "since": since.isoformat() if since else None,
        "until": until.isoformat() if until else None,
        "account": name,
    }
    return request.model_copy(update=fixed)


async def update_plan(request: VacationUpdate, ctx: Context) -> Finer:
    """It answers later, without anybody being asked."""
    name = ctx.account(request.account)
    row = ctx.foresee(name, "set_vacation", Role.INBOX)
    lines = [ReviewLine("automatic reply", row.result if request.enabled else "switched off", risk=request.enabled)]
    if request.enabled:
        lines += [
            ReviewLine("subject", request.subject or "as the server makes it"),
            ReviewLine("text", request.text or ""),
        ]
        lines.append(ReviewLine("from", request.since or "at once"))
        lines.append(ReviewLine("until", request.until or "it is switched off"))
    return Finer(effects=row.effects, review=tuple(lines))


async def update(request: VacationUpdate, ctx: Context) -> AutomaticReply:
    """Set it (J-46)."""
    name = ctx.account(request.account)
    return _told(await power(name, "vacation", _ANSWER, ctx).set_vacation(_wanted(request, ctx)))


async def happened(request: VacationUpdate, ctx: Context) -> bool | None:
    """Look whether it is as asked. Its words are not remembered, so they are not looked at."""
    now = await power(ctx.account(request.account), "vacation", _ANSWER, ctx).vacation()
    wanted = _wanted(request, ctx)
    return (now.enabled, now.since, now.until) == (wanted.enabled, wanted.since, wanted.until)


def _kept(text: str, field: str) -> str:
    """What stays as it is, as far as a request holds it."""
    if len(text) > MOST_TEXT:
        raise Invalid(f"the {field} that is set is too long to be kept from here", next=f"give `{field}`")
    return text


def _wanted(request: VacationUpdate, ctx: Context) -> Vacation:
    since, until = _moment(request.since, "since", ctx), _moment(request.until, "until", ctx)
    return Vacation(request.enabled, request.text or "", request.subject or "", since, until)


def _moment(text: str | None, field: str, ctx: Context) -> datetime | None:
    return None if text is None else when(text, ctx.timezone, field=field).replace(microsecond=0)


def _told(now: Vacation) -> AutomaticReply:
    return AutomaticReply(
        enabled=now.enabled or "no",
        text=now.text,
        subject=now.subject,
        since=instant(now.since) if now.since else None,
        until=instant(now.until) if now.until else None,
    )


vacation_get = Operation(
    request=VacationGet,
    result=AutomaticReply,
    effects=frozenset({Effect.READ}),
    perform=get,
    repeatable=True,
    example={"account": "personal"},
)

vacation_update = Operation(
    request=VacationUpdate,
    result=AutomaticReply,
    effects=frozenset({Effect.AUTOMATE}),
    prepares=frozenset({Effect.READ}),
    perform=update,
    pin=pin,
    plan=update_plan,
    happened=happened,
    outlined=frozenset({"enabled", "since", "until", "account"}),
    repeatable=True,
    example={"enabled": True, "text": "I am away until Monday.", "until": "2026-12-14"},
)
