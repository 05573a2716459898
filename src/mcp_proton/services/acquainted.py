"""Acquainted: whom the owner knows, so that an address out of a stranger's mail is not written to unasked (N-7).

Known is whom the owner wrote to. Who only wrote to the owner is known for an answer to that very mail, and for nothing else:
whoever wrote it chose the address. What cannot be looked up within the time counts as not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Address, Envelope, Mailbox, Role
from mcp_proton.domain.plan import Contact, Unfamiliar
from mcp_proton.domain.ports import Clock, MailBackend, Page
from mcp_proton.domain.query import Contains, Field, Or

from .addressees import key

People = Callable[[Envelope], Iterable[Address]]

_SECONDS = 15.0
_PAGE = 100
_RECEIVED = (Role.INBOX, Role.ARCHIVE, Role.FOLDER)


async def unfamiliar(
    account: str, recipients: Iterable[str], answered: str | None, ctx: Context
) -> tuple[Unfamiliar, ...]:
    """Return the recipients of whom the owner should hear before they are written to. `answered` is a handle.

    While the server cannot be asked, everybody is unfamiliar whom our own memory does not know.
    """
    unknown = {key(one): one for one in recipients}
    own = {key(one.email) for one in await ctx.backend(account).identities()}
    _forget(unknown, own)
    _forget(unknown, await ctx.sendings.reached(account, list(unknown)))
    if not unknown:
        return ()
    try:
        return await _looked_up(account, unknown, own, answered, ctx)
    except Unavailable:
        return tuple(Unfamiliar(email, Contact.FIRST) for email in unknown.values())


async def _looked_up(
    account: str, unknown: dict[str, str], own: Collection[str], answered: str | None, ctx: Context
) -> tuple[Unfamiliar, ...]:
    backend = ctx.backend(account)
    boxes = await ctx.mailboxes(account)
    look = _Look(backend, ctx.clock)
    sent = [box for box in boxes if box.role is Role.SENT]
    _forget(unknown, await look.named(sent, (Field.TO, Field.CC, Field.BCC), unknown, lambda row: _reached(row, own)))
    if unknown and answered is not None:
        _forget(unknown, [one.email for row in await backend.envelopes([Handle.parse(answered)]) for one in row.sender])
    if not unknown:
        return ()
    received = [box for box in boxes if box.role in _RECEIVED and box.selectable]
    heard = await look.named(received, (Field.FROM,), unknown, lambda row: row.sender)
    return tuple(
        Unfamiliar(email, Contact.ONLY_RECEIVED if one in heard else Contact.FIRST) for one, email in unknown.items()
    )


def _forget(unknown: dict[str, str], known: Collection[str]) -> None:
    for one in known:
        unknown.pop(key(one), None)


def _reached(row: Envelope, own: Collection[str]) -> Iterable[Address]:
    """Whom the owner wrote to by this mail: what others wrote says nothing, wherever it was put."""
    return (*row.to, *row.cc, *row.bcc) if any(key(one.email) in own for one in row.sender) else ()


class _Look:
    """A look through mailboxes that ends in time."""

    def __init__(self, backend: MailBackend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._until = clock.monotonic() + _SECONDS

    async def named(
        self, scope: Sequence[Mailbox], fields: Sequence[Field], wanted: dict[str, str], people: People
    ) -> set[str]:
        """Return which of the wanted are among the people of mail in these mailboxes."""
        seen: set[str] = set()
        query = Or(tuple(Contains(field, one) for one in wanted for field in fields))
        continuation = None
        while scope and seen != wanted.keys() and (left := self._until - self._clock.monotonic()) > 0:
            found = await self._backend.search(scope, query, Page(limit=_PAGE, continuation=continuation, budget=left))
            seen |= {key(one.email) for row in found.rows for one in people(row)} & wanted.keys()
            continuation = found.continuation
            if continuation is None:
                break
        return seen
