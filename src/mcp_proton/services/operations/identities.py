"""Identities: one more address to send as, where the mail server makes them. What there are, `accounts_identities` lists."""

from __future__ import annotations

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Identity, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.role_addresses import is_role_address
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.services.asking.powers import power
from mcp_proton.services.fields import Account, Stranger, Text

_MAKE = "make identities"


class IdentitiesCreate(Request):
    """Add an address to send as: `Name <a@b>`."""

    address: Text
    account: Account = None


class MadeIdentity(Result):
    """The address, which is its `id` too."""

    id: str
    email: str
    name: Stranger = ""


async def pin(request: IdentitiesCreate, ctx: Context) -> IdentitiesCreate:
    """Fix the account; refuse what is no address, names an office (J-137), or cannot be made there."""
    name = ctx.account(request.account)
    wanted = _read(request.address)
    if is_role_address(wanted.email):
        raise Invalid(
            "this address names an office, not a person",
            code="role_address",
            next="the owner can write it into `identities` in config.toml",
        )
    power(name, "new_identities", _MAKE, ctx)
    return request.model_copy(update={"account": name})


async def create_plan(request: IdentitiesCreate, ctx: Context) -> Finer:
    """Mail can later be sent as it."""
    row = ctx.foresee(ctx.account(request.account), "create_identity", Role.INBOX)
    return Finer(effects=row.effects, review=(ReviewLine(f"send as {request.address}", row.result, risk=True),))


async def create(request: IdentitiesCreate, ctx: Context) -> MadeIdentity:
    """Make it (J-03)."""
    wanted = _read(request.address)
    made = await power(ctx.account(request.account), "new_identities", _MAKE, ctx).create_identity(wanted)
    return MadeIdentity(id=made.email, email=made.email, name=made.name)


async def happened(request: IdentitiesCreate, ctx: Context) -> bool | None:
    """Look whether it is there."""
    known = await ctx.backend(ctx.account(request.account)).identities()
    return any(one.email.lower() == _read(request.address).email.lower() for one in known)


def _read(text: str) -> Identity:
    """One address and nothing beside it but its name."""
    found = addresses(text) if text.isprintable() else ()
    if len(found) == 1:
        email, written = found[0].email, text.strip()
        whole = written == email or written.endswith(f"<{email}>")
        if whole and email.count("@") == 1 and not any(c.isspace() or c in "<>*" for c in email):
            return Identity(email, found[0].name)
    raise Invalid("`address` is not one address", next="write it as `Name <me@example.org>`")


identities_create = Operation(
    request=IdentitiesCreate,
    result=MadeIdentity,
    effects=frozenset({Effect.AUTOMATE}),
    perform=create,
    pin=pin,
    plan=create_plan,
    happened=happened,
    example={"address": "Anna Example <anna@example.org>"},
)
