"""Answering: a message → the mail that answers it or passes it on, with everything the original decides filled in.

What is taken from the original is a stranger's word: it fills in addresses that the owner's rules then judge, and text that
is quoted. It never chooses the sender, the effect or an attachment that was not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Invalid, NotFound, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.composing.answering import Recipients, addressed_as
from mcp_proton.mime.composing.reply import Original
from mcp_proton.mime.header.headers import Headers
from mcp_proton.services.presenting import content
from mcp_proton.services.writing import identities


@dataclass(frozen=True, slots=True)
class Source:
    """The message that is answered, the account's identities, and who answers."""

    handle: Handle
    original: Original
    read: content.Content
    identities: Sequence[Identity]
    sender: Identity

    @property
    def own(self) -> list[str]:
        """The account's addresses."""
        return [one.email for one in self.identities]


async def source(message: str, sender: str | None, ctx: Context, *, page: bool = False) -> Source:
    """Read the message that is answered; `page`: its HTML too. The sender is whom it was sent to, unless one is named."""
    handle = Handle.parse(message)
    backend = ctx.backend(handle.account)
    block = (await backend.headers([handle])).get(handle)
    if block is None:
        raise Stale("the message to answer is no longer where this handle says")
    headers = Headers(block)
    read = await content.read(backend, handle)
    known = await backend.identities()
    wanted = sender or addressed_as(headers, [one.email for one in known])
    return Source(
        handle,
        Original(headers, read.text, await _page(backend, handle) if page else None, await _anchor(backend, handle)),
        read,
        known,
        identities.choose(known, wanted),
    )


def whom(found: Recipients) -> Recipients:
    """Return whom an answer goes to. `Invalid` says why nobody is left."""
    if found.to or found.cc:
        return found
    why = ", ".join(sorted({one.reason.value for one in found.left_out}))
    raise Invalid(
        f"nobody is left to answer to ({why})" if why else "nobody is left to answer to",
        code="nobody_to_answer",
        next="set `no_reply` to write to an address that says it takes no answers, or use mail_send",
    )


async def _page(backend: MailBackend, handle: Handle) -> str | None:
    try:
        return (await content.read_html(backend, handle))[1]
    except NotFound:
        return None


async def _anchor(backend: MailBackend, handle: Handle) -> str | None:
    return None if backend.submits is None else await backend.submits.anchor(handle)
