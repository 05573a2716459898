"""`mcp-proton policy`: what the rules are, what holds for whom and why, and what an edit would change."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter, validators

from mcp_proton import bootstrap
from mcp_proton.admin.asking import confirm, say
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.setting_up.access import AUTONOMOUS_RISK, MEANINGS
from mcp_proton.config import editing
from mcp_proton.domain.complaint import Misconfigured, nearest
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.domain.mail import Role
from mcp_proton.domain.plan import Scope
from mcp_proton.policy import matrix
from mcp_proton.policy.presets import Preset
from mcp_proton.services.presenting.answers import instant

if TYPE_CHECKING:
    from mcp_proton.policy.model import Policy

app = App(
    name="policy",
    help_epilogue="""Examples:
  mcp-proton policy show
  mcp-proton policy explain hermes send --account personal
  mcp-proton policy preset reader --client hermes
  mcp-proton policy preview new-policy.toml
  mcp-proton policy grant allow send --minutes 60 --client hermes

The rules are in policy.toml, which is yours to edit; an edit that breaks it
never takes the rules away: the last good ones hold until it is mended.""",
)

EffectName = Annotated[Effect, Parameter(help="what would happen: list, read, organize, send …")]
ClientName = Annotated[str, Parameter(help="the client's label in config.toml")]
AccountName = Annotated[str | None, Parameter(help="an account; omit for any other")]
MailboxName = Annotated[str | None, Parameter(help="a mailbox path or role; omit for any other")]


@app.command
async def show(
    *,
    client: Annotated[str | None, Parameter(help="only this client")] = None,
    account: Annotated[str | None, Parameter(help="only this account")] = None,
    json: AsJson = False,
) -> Exit:
    """Show the effective value of every effect, and where each comes from.

    Exits with 1 when your latest edit of policy.toml is broken and the rules before it hold.
    """
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    policy = await bootstrap.policy_in_force(settings)
    clients = [client] if client else sorted(settings.config.clients) or ["any"]
    scopes = [Scope(account)] if account else [Scope(name) for name in settings.config.accounts] or [Scope()]
    rows = [_row(one) for one in matrix.matrix(policy.current, clients, scopes, datetime.now(UTC))]
    if json:
        printer.json({"status": "ok", "rules": rows, **({"problem": policy.problem} if policy.problem else {})})
    else:
        printer.table(rows)
        if policy.problem:
            printer.remark(f"your latest edit is not in force, the rules before it are: {policy.problem}")
    return Exit.ATTENTION if policy.problem else Exit.DONE


@app.command
async def explain(
    client: ClientName,
    effect: EffectName,
    /,
    *,
    account: AccountName = None,
    mailbox: MailboxName = None,
    json: AsJson = False,
) -> Exit:
    """Say why one thing is as it is: every rule that speaks of it, the decisive one first, then the boundaries."""
    printer = Printer(as_json=json)
    policy = (await bootstrap.policy_in_force(bootstrap.settings(os.environ))).current
    found = matrix.explain(policy, client, effect, _scope(account, mailbox), datetime.now(UTC))
    told: dict[str, Any] = {
        "effect": effect.value,
        "verdict": found.cell.verdict.word,
        "source": found.cell.source,
        "why": str(found.cell.reason),
        "rules": [
            {"part": one.part, "verdict": one.rule.verdict.word, "source": one.rule.source} for one in found.voices
        ],
        "boundaries": [str(one.source) for one in found.fences],
    }
    if json:
        printer.json({"status": "ok", **{name: value for name, value in told.items() if value}})
        return Exit.DONE
    printer.line(f"{told['verdict']}: {told['why']}", style="bold")
    printer.table(told["rules"] or [{"part": "", "verdict": "", "source": "no rule speaks of it"}])
    for boundary in told["boundaries"]:
        printer.line(f"boundary: {boundary}")
    return Exit.DONE


@app.command
async def preview(
    file: Annotated[Path, Parameter(help="a policy file that is not in force yet")], /, *, json: AsJson = False
) -> Exit:
    """Show which verdicts a policy file would change if it took the place of yours. Changes nothing."""
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    before = (await bootstrap.policy_in_force(settings)).current
    after = bootstrap.read_policy(settings, file)
    clients = sorted(settings.config.clients) or ["any"]
    scopes = _scopes_of(before, after, list(settings.config.accounts))
    changed = matrix.changes(before, after, clients, scopes, datetime.now(UTC))
    rows = [{**_row(was), "becomes": new.verdict.word, "because of": new.source} for was, new in changed]
    if json:
        printer.json({"status": "ok", "changes": rows})
    elif rows:
        printer.table(rows)
    else:
        printer.line("no verdict changes")
    return Exit.DONE


@app.command
def preset(
    word: Annotated[Preset, Parameter(help="reader: read only; assistant: sending and deleting ask; autonomous: all")],
    /,
    *,
    client: Annotated[str | None, Parameter(help="for this client alone")] = None,
    account: Annotated[str | None, Parameter(help="for this account alone")] = None,
    yes: Annotated[bool, Parameter(negative="", help="ask for no confirmation", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Choose a preset for everything, or for one client or account."""
    printer = Printer(as_json=json)
    if word is Preset.AUTONOMOUS and not yes:
        say(AUTONOMOUS_RISK)
        if not confirm("Choose autonomous?", flag="--yes"):
            printer.remark("nothing was changed")
            return Exit.REFUSED
    settings = bootstrap.settings(os.environ)
    path = settings.folders.policy_file
    editing.choose_preset(path, word.value, bootstrap.policy_check(settings), client=client, account=account)
    return printer.answer({"status": "ok", "preset": word.value, "means": MEANINGS[word], "file": str(path)})


@app.command
async def grant(
    verdict: Annotated[Literal["allow", "ask", "deny"], Parameter(help="what holds while it lasts")],
    effect: Annotated[list[Effect], Parameter(help="what would happen; may be several")],
    /,
    *,
    minutes: Annotated[int, Parameter(help="how long it lasts", validator=validators.Number(gte=1, lte=10_080))],
    client: Annotated[str | None, Parameter(help="for this client alone")] = None,
    account: AccountName = None,
    mailbox: MailboxName = None,
    json: AsJson = False,
) -> Exit:
    """Give a rule that ends by itself. Boundaries and limits hold all the same."""
    settings = bootstrap.settings(os.environ)
    _known(settings, client, account)
    wanted = frozenset(effect)
    if Effect.ADMINISTER in wanted:
        raise Invalid("changing the rules is yours alone and no rule gives it away")
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    async with bootstrap.switched(settings) as (switches, _):
        given = await switches.grant(wanted, verdict, until, client=client, account=account, place=mailbox)
    return Printer(as_json=json).answer({"status": "ok", "grant": given.id, "until": instant(until)})


@app.command
async def grants(*, json: AsJson = False) -> Exit:
    """List the rules that end by themselves."""
    found = await bootstrap.switches_now(bootstrap.settings(os.environ))
    rows = [
        {
            "grant": one.id,
            "verdict": one.verdict,
            "effects": sorted(one.effects),
            "client": one.client or "any",
            "account": one.account or "any",
            "mailbox": one.place or "any",
            "until": instant(one.until),
        }
        for one in found.granted
        if one.until > datetime.now(UTC)
    ]
    printer = Printer(as_json=json)
    if not rows and not json:
        printer.remark("nothing is granted")
    return printer.answer({"status": "ok", "grants": rows})


@app.command(name="end-grant")
async def end_grant(
    grant_id: Annotated[str, Parameter(help="as `policy grants` names it")], /, *, json: AsJson = False
) -> Exit:
    """End a grant before its time."""
    async with bootstrap.switched(bootstrap.settings(os.environ)) as (switches, _):
        await switches.end_grant(grant_id)
    return Printer(as_json=json).answer({"status": "ok", "ended": grant_id})


@app.command
async def thaw(account: Annotated[str, Parameter(help="the account's short name")], /, *, json: AsJson = False) -> Exit:
    """Open again what was shut in an account since a message was lost. Look at `mcp-proton activity` first."""
    settings = bootstrap.settings(os.environ)
    _known(settings, None, account)
    async with bootstrap.switched(settings) as (switches, _):
        await switches.thaw(account)
    return Printer(as_json=json).answer({"status": "ok", "account": account, "now": "open"})


def _known(settings: bootstrap.Settings, client: str | None, account: str | None) -> None:
    """A grant for a misspelt name would silently bind nobody."""
    for name, known, what in (
        (client, settings.config.clients, "client"),
        (account, settings.config.accounts, "account"),
    ):
        if name is not None and name not in known:
            raise NotFound(f"there is no {what} `{name}`{nearest(name, known)}")


def check(settings: bootstrap.Settings) -> list[str]:
    """Return every complaint about the policy file."""
    try:
        if settings.folders.policy_file.exists():
            bootstrap.read_policy(settings, settings.folders.policy_file)
    except Misconfigured as error:
        return [str(one) for one in error.complaints]
    return []


def _row(one: matrix.Cell) -> dict[str, Any]:
    return {
        "client": one.client,
        "account": one.scope.account or "any",
        "mailbox": one.scope.mailbox or "any",
        "effect": one.effect.value,
        "verdict": one.verdict.word,
        "from": one.source,
    }


def _scope(account: str | None, mailbox: str | None) -> Scope:
    roles = {role.value: role for role in Role}
    role = roles.get((mailbox or "").lower())
    return Scope(account, mailbox, role)


def _scopes_of(before: Policy, after: Policy, accounts: list[str]) -> list[Scope]:
    """Return every scope that some rule of either policy tells apart."""
    places = {
        rule.place.text
        for policy in (before, after)
        for effect in Effect
        for rule in policy.about(effect)
        if rule.place
    }
    names: list[str | None] = [*accounts] or [None]
    return [_scope(name, place) for name in names for place in [None, *sorted(places)]]
