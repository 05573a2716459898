"""Addresses: whom the owner wrote to or heard from, found by a part of a name or address."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field as Bounds

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.domain.mail import Address, Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import Contains, Field, fold
from mcp_proton.services.fields import Account, Mark, Stranger, Text
from mcp_proton.services.presenting.rows import Reach, reach, shown_at

_LOOKED_AT = 400
_SECONDS = 10.0
_PLACES = (Role.SENT, Role.INBOX, Role.ARCHIVE, Role.FOLDER)


class AddressesFind(Request):
    """Find the address of a person by name."""

    name: Text
    account: Account = None
    limit: Annotated[int, Bounds(ge=1, le=50), Mark.TOKEN] = 10


class FoundAddress(Result):
    """One address: how often it was written to and heard from in the mail looked at, and when last."""

    address: Stranger
    written_to: int = 0
    heard_from: int = 0
    last: str | None = None


class FoundAddresses(Result):
    """Addresses that hold the name, those the owner wrote to first. Names in headers are strangers' claims."""

    addresses: list[FoundAddress] = []
    coverage: Reach


async def _scope(ctx: Context, account: str) -> list[Mailbox]:
    boxes = [box for box in await ctx.mailboxes(account) if box.selectable and ctx.allows(Effect.LIST, account, box)]
    found = [box for role in _PLACES for box in boxes if box.role is role]
    if not found:
        raise NotFound("there is no mailbox you may look in", next="ask the owner")
    return found


async def find_effects(request: AddressesFind, ctx: Context) -> Finer:
    """LIST on every mailbox that is looked in."""
    boxes = await _scope(ctx, ctx.account(request.account))
    impacts = frozenset(Impact(Effect.LIST, Scope(box.account, box.path, box.role)) for box in boxes)
    return Finer(effects=frozenset(), impacts=impacts)


@dataclass
class _Tally:
    address: Address
    written_to: int = 0
    heard_from: int = 0
    last: datetime = field(default=datetime.min.replace(tzinfo=UTC))


async def find(request: AddressesFind, ctx: Context) -> FoundAddresses:
    """Search envelopes by participant and count who matches."""
    wanted = fold(request.name)
    if len(wanted) < 2:
        raise Invalid("a name needs at least two letters", code="invalid_name")
    name = ctx.account(request.account)
    scope = await _scope(ctx, name)
    outgoing = {box.tag for box in scope if box.role is Role.SENT}
    page = Page(limit=_LOOKED_AT, budget=_SECONDS)
    found = await ctx.backend(name).search(scope, Contains(Field.PARTICIPANT, request.name), page)
    tallies: dict[str, _Tally] = defaultdict(lambda: _Tally(Address("", "")))
    for envelope in found.rows:
        sent = envelope.handle.tag in outgoing
        for address in (*envelope.to, *envelope.cc) if sent else envelope.sender:
            if address.email and wanted in fold(f"{address.name} {address.email}"):
                _count(tallies[address.email.casefold()], address, sent, envelope.received or envelope.date)
    best = sorted(tallies.values(), key=lambda one: (one.written_to, one.heard_from, one.last), reverse=True)
    return FoundAddresses(
        addresses=[
            FoundAddress(
                address=str(one.address), written_to=one.written_to, heard_from=one.heard_from, last=shown_at(one.last)
            )
            for one in best[: request.limit]
        ],
        coverage=reach(found.coverage, brief=True),
    )


def _count(tally: _Tally, address: Address, sent: bool, when: datetime | None) -> None:
    tally.written_to += sent
    tally.heard_from += not sent
    if when is not None and when >= tally.last:
        tally.last = when
        tally.address = address if address.name else Address(tally.address.name, address.email)
    elif not tally.address.email:
        tally.address = address


addresses_find = Operation(
    request=AddressesFind,
    result=FoundAddresses,
    effects=frozenset({Effect.LIST}),
    perform=find,
    plan=find_effects,
    repeatable=True,
    example={"name": "Anna"},
)
