"""Acquainted: whom the owner knows, so that an address out of a stranger's mail is not written to unasked (N-7).

Known is whom the owner wrote to. Who only wrote to the owner is known for an answer to that very mail, and for nothing else:
whoever wrote it chose the address. What cannot be looked up within the time counts as not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Unavailable, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Address, Envelope, Mailbox, Role
from mcp_proton.domain.plan import Contact, Unfamiliar
from mcp_proton.domain.ports import Clock, MailBackend, Page
from mcp_proton.domain.query import Contains, Field, Or
from mcp_proton.services.writing.addressees import key

People = Callable[[Envelope], Iterable[Address]]

_SECONDS = 15.0
_PAGE = 100
_TO = (Field.TO, Field.CC, Field.BCC)
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
    heard, look = await _by_index(backend, unknown, own), None
    if heard is None:
        look = _Look(backend, await ctx.mailboxes(account), ctx.clock)
        _forget(unknown, await look.named((Role.SENT,), _TO, unknown, lambda row: _reached(row, own)))
    if unknown and answered is not None:
        _forget(unknown, [one.email for row in await backend.envelopes([Handle.parse(answered)]) for one in row.sender])
    if not unknown:
        return ()
    if look is not None:
        heard = await look.named(_RECEIVED, (Field.FROM,), unknown, lambda row: row.sender)
    known = heard or ()
    return tuple(
        Unfamiliar(email, Contact.ONLY_RECEIVED if one in known else Contact.FIRST) for one, email in unknown.items()
    )


async def _by_index(backend: MailBackend, unknown: dict[str, str], own: Collection[str]) -> set[str] | None:
    """Forget those the owner wrote to; return who wrote to the owner. None: the server has no index, so it is looked through.

    Where the latest mail is all from or to a few of them, the rest are asked for once more.
    """
    if backend.powers is None:
        return None
    heard: set[str] = set()
    before = len(unknown) + 1
    more = True
    while more and 0 < len(unknown) < before:
        before = len(unknown)
        try:
            told = await backend.powers.correspondence(list(unknown.values()))
        except Unsupported:
            return None
        _forget(unknown, [one.email for row in told.sent for one in _reached(row, own)])
        heard |= {key(one.email) for row in told.received for one in row.sender}
        more = told.more
    return heard


def _forget(unknown: dict[str, str], known: Collection[str]) -> None:
    for one in known:
        unknown.pop(key(one), None)


def _reached(row: Envelope, own: Collection[str]) -> Iterable[Address]:
    """Whom the owner wrote to by this mail: what others wrote says nothing, wherever it was put."""
    return (*row.to, *row.cc, *row.bcc) if any(key(one.email) in own for one in row.sender) else ()


class _Look:
    """A look through mailboxes that ends in time."""

    def __init__(self, backend: MailBackend, boxes: Sequence[Mailbox], clock: Clock) -> None:
        self._backend = backend
        self._boxes = boxes
        self._clock = clock
        self._until = clock.monotonic() + _SECONDS

    async def named(
        self, roles: Collection[Role], fields: Sequence[Field], wanted: dict[str, str], people: People
    ) -> set[str]:
        """Return which of the wanted are among the people of mail in the mailboxes of these roles."""
        scope = [box for box in self._boxes if box.role in roles and box.selectable]
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
