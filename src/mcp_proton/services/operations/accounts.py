"""Accounts: which there are, how they are, and what can be done with them."""

from __future__ import annotations

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.domain.ports import Health
from mcp_proton.services.fields import Account, Stranger


class AccountsList(Request):
    """List the mail accounts you may use."""


class AccountsHealth(Request):
    """Check whether accounts are connected and in sync."""

    account: Account = None


class AccountsIdentities(Request):
    """List the addresses an account sends as."""

    account: Account = None


class CapabilitiesReport(Request):
    """Tell what an account can do and what you may do."""

    account: Account = None


class ListedAccount(Result):
    """One account."""

    account: str
    default: bool = False


class AccountList(Result):
    """The accounts of this caller."""

    accounts: list[ListedAccount] = []


class Fullness(Result):
    """How much is used, of how much, in octets or as a count; no `limit`: none is told."""

    name: Stranger = ""
    unit: str
    used: int
    limit: int | None = None


class AccountHealth(Result):
    """How one account is. Said by the server: its version and capability words, who is logged in, and how full it is.

    `unproved`: kinds of changes that are asked about, since this version of the server was never seen to do them;
    `disproved`: those that are refused, since it was seen to do something else.
    """

    account: str
    connected: bool
    server: str = ""
    version: str = ""
    mode: str | None = None
    login: Stranger = ""
    quotas: list[Fullness] = []
    syncing: bool | str | None = None
    unproved: list[str] = []
    disproved: list[str] = []
    capabilities: list[str] = []
    code: str | None = None
    why: str | None = None
    next: str | None = None


class Healths(Result):
    """How the accounts are."""

    accounts: list[AccountHealth] = []


class SendingIdentity(Result):
    """An address to send as; its name is its `id`. `role`: it names an office, and the owner configured it all the same."""

    id: str
    email: str
    name: str = ""
    role: bool = False


class Identities(Result):
    """The addresses: what the server tells, and what the owner wrote into config.toml."""

    account: str
    identities: list[SendingIdentity] = []


class RightLine(Result):
    """What the owner's rules say of one effect for this caller, and where that comes from."""

    effect: str
    verdict: str
    source: str


class Consequence(Result):
    """What a verb really does in mailboxes of these roles."""

    verb: str
    source: str = "any"
    target: str = ""
    result: str
    evidence: str
    refused: bool = False


class Capabilities(Result):
    """What the server can do (available, unavailable, unverified) and what this caller may do."""

    account: str
    features: dict[str, str] = {}
    effects: list[Consequence] = []
    rights: list[RightLine] = []


def _visible(ctx: Context) -> list[str]:
    return [name for name in ctx.accounts() if not ctx.denies(Effect.LIST, name)]


async def _each_account(request: Request, ctx: Context) -> Finer:
    """Touch every account that is not denied; an account that is stays out of the answer."""
    visible = _visible(ctx) or list(ctx.accounts())
    return Finer(impacts=frozenset(Impact(Effect.LIST, Scope(name)) for name in visible), effects=frozenset())


async def _one_or_each(request: AccountsHealth, ctx: Context) -> Finer:
    if request.account is not None:
        return Finer()
    return await _each_account(request, ctx)


async def list_accounts(request: AccountsList, ctx: Context) -> AccountList:
    """Name the accounts."""
    try:
        default: str | None = ctx.account(None)
    except MailError:
        default = None
    return AccountList(accounts=[ListedAccount(account=name, default=name == default) for name in _visible(ctx)])


async def health(request: AccountsHealth, ctx: Context) -> Healths:
    """Look at the accounts, one after the other."""
    names = [ctx.account(request.account)] if request.account else _visible(ctx)
    found = []
    for place, name in enumerate(names):
        await ctx.progress(place, len(names), f"looking at {name}")
        found.append(_told(name, await ctx.backend(name).health()))
    return Healths(accounts=found)


async def identities(request: AccountsIdentities, ctx: Context) -> Identities:
    """Ask the backend, which knows what the server told and what the owner wrote down."""
    name = ctx.account(request.account)
    known = await ctx.backend(name).identities()
    return Identities(
        account=name,
        identities=[SendingIdentity(id=one.email, email=one.email, name=one.name, role=one.role) for one in known],
    )


async def report(request: CapabilitiesReport, ctx: Context) -> Capabilities:
    """Read off the backend's tables and the caller's rules."""
    name = ctx.account(request.account)
    backend = ctx.backend(name)
    return Capabilities(
        account=name,
        features={feature: standing.value for feature, standing in sorted(backend.features().items())},
        effects=[
            Consequence(
                verb=block.row.verb,
                source=", ".join(block.sources),
                target=", ".join(block.targets),
                result=block.row.told,
                evidence=block.row.known_by,
                refused=block.row.refused,
            )
            for block in backend.consequences().blocks()
        ],
        rights=[RightLine(effect=one.effect.value, verdict=one.verdict, source=one.source) for one in ctx.rights(name)],
    )


def _told(name: str, seen: Health) -> AccountHealth:
    return AccountHealth(
        account=name,
        connected=seen.connected,
        server=seen.server,
        version=seen.version,
        mode=seen.mode,
        login=seen.login,
        quotas=[Fullness(name=one.name, unit=one.unit, used=one.used, limit=one.limit) for one in seen.quotas],
        syncing="unknown" if seen.connected and seen.syncing is None else seen.syncing,
        unproved=list(seen.unproved),
        disproved=list(seen.disproved),
        capabilities=list(seen.capabilities),
        code=seen.code,
        why=seen.why,
        next=seen.next,
    )


accounts_list = Operation(
    request=AccountsList,
    result=AccountList,
    effects=frozenset({Effect.LIST}),
    perform=list_accounts,
    plan=_each_account,
    repeatable=True,
    example={},
)

accounts_health = Operation(
    request=AccountsHealth,
    result=Healths,
    effects=frozenset({Effect.LIST}),
    perform=health,
    plan=_one_or_each,
    repeatable=True,
    example={"account": "personal"},
)

accounts_identities = Operation(
    request=AccountsIdentities,
    result=Identities,
    effects=frozenset({Effect.LIST}),
    perform=identities,
    repeatable=True,
    example={"account": "personal"},
)

capabilities_report = Operation(
    request=CapabilitiesReport,
    result=Capabilities,
    effects=frozenset({Effect.LIST}),
    perform=report,
    repeatable=True,
    uri="mail://{account}/capabilities",
    example={"account": "personal"},
)
