"""Acquainted: whom the owner knows, so that an address out of a stranger's mail is not written to unasked (N-7).

Known is whom the owner wrote to. Who only wrote to the owner is known for an answer to that very mail, and for nothing else:
whoever wrote it chose the address. What cannot be looked up within the time counts as not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Address, Envelope, Mailbox, Role
from mcp_proton.domain.plan import Doubt, Doubtful
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import Contains, Field, Or

from .addressees import key

People = Callable[[Envelope], Iterable[Address]]

_SECONDS = 10.0
_PAGE = 100
_PAGES = 5
_RECEIVED = (Role.INBOX, Role.ARCHIVE, Role.FOLDER)


async def doubts(account: str, recipients: Iterable[str], answered: str | None, ctx: Context) -> tuple[Doubtful, ...]:
    """Return the recipients of whom the owner should hear before they are written to. `answered` is a handle."""
    unknown = {key(one): one for one in recipients}
    backend = ctx.backend(account)
    _forget(unknown, [one.email for one in await backend.identities()])
    _forget(unknown, await ctx.sendings.reached(account, list(unknown)))
    boxes = await ctx.mailboxes(account)
    if unknown:
        sent = [box for box in boxes if box.role is Role.SENT]
        fields = (Field.TO, Field.CC, Field.BCC)
        _forget(unknown, await _seen(backend, sent, fields, unknown, lambda row: (*row.to, *row.cc, *row.bcc)))
    if unknown and answered is not None:
        _forget(unknown, [one.email for row in await backend.envelopes([Handle.parse(answered)]) for one in row.sender])
    if not unknown:
        return ()
    received = [box for box in boxes if box.role in _RECEIVED and box.selectable]
    heard = await _seen(backend, received, (Field.FROM,), unknown, lambda row: row.sender)
    return tuple(
        Doubtful(email, Doubt.ONLY_RECEIVED if one in heard else Doubt.FIRST_CONTACT) for one, email in unknown.items()
    )


def _forget(unknown: dict[str, str], known: Collection[str]) -> None:
    for one in known:
        unknown.pop(key(one), None)


async def _seen(
    backend: MailBackend, scope: Sequence[Mailbox], fields: Sequence[Field], wanted: dict[str, str], people: People
) -> set[str]:
    """Return which of the wanted are named by these fields in mail of these mailboxes."""
    seen: set[str] = set()
    if not scope:
        return seen
    query = Or(tuple(Contains(field, one) for one in wanted for field in fields))
    continuation = None
    for _ in range(_PAGES):
        found = await backend.search(scope, query, Page(limit=_PAGE, continuation=continuation, budget=_SECONDS))
        seen |= {key(one.email) for row in found.rows for one in people(row)} & wanted.keys()
        continuation = found.continuation
        if continuation is None or seen == wanted.keys():
            break
    return seen
