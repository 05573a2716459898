"""Letters: a written request → the one message it is (`domain.outgoing.Letter`), and the octets of that message.

`fix` settles everything that could be otherwise tomorrow: sender, Message-ID, date, text, attachments, the digest of the
octets. What was fixed is composed again when it is performed, and is the same to the octet or is not sent (P-35, A-40).
"""

from __future__ import annotations

import hashlib
import html
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Defect
from mcp_proton.domain.mail import Address, Identity
from mcp_proton.domain.outgoing import Enclosure, Letter
from mcp_proton.mime.composing.compose import compose, composed_size
from mcp_proton.mime.composing.enclosing import streamed
from mcp_proton.mime.hypertext import html as mime_html
from mcp_proton.services.spooling import Spooled, spooled
from mcp_proton.services.writing import enclosing, identities
from mcp_proton.services.writing.addressees import people
from mcp_proton.services.writing.written import Attach, Enclosed, Fixed, Thread, Written

W = TypeVar("W", bound=Written)
MOST = 100 << 20
"""Octets of a message where the server names no limit."""


async def fix(request: W, ctx: Context, most: int | None, *, bcc: bool = False) -> W:
    """Make the request one message. `OverLimit` (`too_large`) beyond `most` octets as sent.

    `bcc`: the octets name the hidden recipients too, as a draft or a filed copy does. Anything but an answer is signed here.
    """
    account = ctx.account(request.account)
    chosen = identities.choose(await ctx.backend(account).identities(), request.sender)
    most = MOST if most is None else most
    attached: list[tuple[Attach, Enclosed]] = []
    for one in request.attach:
        attached.append(await enclosing.fix(one, ctx, most, sum(enclosed.size for _, enclosed in attached)))
    fixed = Fixed(
        email=chosen.email,
        name=chosen.name,
        message_id=f"<{secrets.token_hex(16)}@{chosen.email.rpartition('@')[2]}>",
        date=ctx.clock.now().astimezone(ctx.timezone).replace(microsecond=0),
        enclosed=tuple(enclosed for _, enclosed in attached),
    )
    to, cc, hidden = _each_once(request)
    signed = _signed(request, chosen) if request.thread is None else {}
    request = request.model_copy(
        update={
            "to": to,
            "cc": cc,
            "bcc": hidden,
            "attach": tuple(one for one, _ in attached),
            "account": account,
            "sender": chosen.email,
            "fixed": fixed,
            **signed,
        }
    )
    if request.html is not None and not request.text.strip():
        request = request.model_copy(update={"text": mime_html.to_text(request.html).text})
    size = composed_size(letter(request), bcc=bcc)
    if size > most:
        raise enclosing.too_large(most)
    digest = hashlib.sha256()
    async for chunk in octets(request, ctx, bcc=bcc):
        digest.update(chunk)
    return request.model_copy(update={"fixed": fixed.model_copy(update={"wire": digest.hexdigest(), "size": size})})


def letter(request: Written) -> Letter:
    """Return the message a fixed request is."""
    fixed = _fixed(request)
    thread = request.thread or Thread()
    return Letter(
        sender=Address(fixed.name, fixed.email),
        to=people(request.to),
        cc=people(request.cc),
        bcc=people(request.bcc),
        subject=request.subject,
        text=request.text,
        html=request.html,
        message_id=fixed.message_id,
        date=fixed.date,
        in_reply_to=thread.in_reply_to,
        references=thread.references,
        enclosures=tuple(one.enclosure for one in fixed.enclosed),
        calendar=thread.calendar,
    )


async def octets(request: Written, ctx: Context, *, bcc: bool = False) -> AsyncIterator[bytes]:
    """Yield the octets of a fixed request's message, attachments streamed into their places."""
    enclosed = _fixed(request).enclosed
    sources = {one.enclosure: (attach, one) for attach, one in zip(request.attach, enclosed, strict=True)}

    def opened(enclosure: Enclosure) -> AsyncIterator[bytes]:
        return enclosing.opened(*sources[enclosure], ctx)

    async for chunk in streamed(compose(letter(request), bcc=bcc), opened):
        yield chunk


@asynccontextmanager
async def held(
    request: Written, ctx: Context, folder: Path | None = None, *, bcc: bool = False
) -> AsyncIterator[Spooled]:
    """Hold the octets that were fixed. `Conflict` (`changed_since_approval`) if they came out otherwise by now.

    `bcc` as it was when they were fixed.
    """
    async with spooled(octets(request, ctx, bcc=bcc), folder) as mail:
        if mail.sha256 != _fixed(request).wire:
            raise enclosing.changed("this would no longer be the message that was asked for")
        yield mail


def signature(identity: Identity) -> str:
    """Return what goes below a text (RFC 3676 §4.3); nothing where the owner has configured none."""
    return f"\n\n-- \n{identity.signature.strip()}\n" if identity.signature.strip() else ""


def _signed(request: Written, identity: Identity) -> dict[str, str]:
    below = signature(identity)
    if not below:
        return {}
    signed = {"text": request.text.rstrip("\n") + below if request.text.strip() or request.html is None else ""}
    if request.html is not None:
        signed["html"] = f"{request.html}{as_html(below)}"
    return signed


def as_html(text: str) -> str:
    """Return plain text as HTML that shows it so."""
    return html.escape(text, quote=False).replace("\n", "<br>\n")


def _each_once(request: Written) -> tuple[tuple[str, ...], ...]:
    """Name every recipient once: in To, else in Cc, else in Bcc."""
    seen: set[str] = set()
    fields = []
    for field in (request.to, request.cc, request.bcc):
        mine = [one for one in people(field) if one.email.casefold() not in seen]
        seen |= {one.email.casefold() for one in mine}
        fields.append(tuple(str(one) for one in mine))
    return tuple(fields)


def _fixed(request: Written) -> Fixed:
    if request.fixed is None:
        raise Defect("a mail was to be composed that was never fixed")
    return request.fixed
