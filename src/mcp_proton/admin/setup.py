"""`mcp-proton setup`: connects an account, chooses what agents may do with it, lets an agent in.

Asks at a terminal, takes every answer as a flag too, and writes nothing before everything was answered and the login
worked. For an account that is there already it is the way to mend it: a new certificate, a new password, another port.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.config.tables import Account, Kind, Profile, Security
from mcp_proton.domain.complaint import Complaint, Misconfigured
from mcp_proton.policy.presets import Preset
from mcp_proton.storage.vault import Vault

from . import access, login, server
from .asking import SaidNoError, confirm, interactive, say
from .exits import Exit
from .printing import AsJson, Printer
from .programs import Program, snippet
from .wanted import Wanted, account_name, require

if TYPE_CHECKING:
    from .access import Admitted, Choice
    from .login import Login


@dataclass(frozen=True)
class Prepared:
    """Everything that is about to be written. Nothing was so far."""

    name: str
    before: Account | None
    login: Login
    choice: Choice | None
    client: Admitted | None


app = App(
    name="setup",
    help_epilogue="""At a terminal it asks for what the flags leave open. Nothing is written before
the login worked. Run it again with the name of an account when Bridge was
installed anew: it shows the old and the new certificate and asks for what
changed.

  mcp-proton setup
  mcp-proton setup personal --trust cert.pem
  mcp-proton setup work --kind imap --host imap.example.org
  mcp-proton setup personal --username me@proton.me --password-file - \\
    --trust cert.pem --preset assistant --client hermes

Where a password is kept (--secret): keyring, file:PATH (only you can read it),
env:NAME, command:PROGRAM, systemd:NAME. It never stands in config.toml.""",
)


@app.default
async def setup(
    account: Annotated[str | None, Parameter(help="a short name for the account, or one you have, to mend it")] = None,
    /,
    *,
    kind: Annotated[Kind | None, Parameter(help="Proton Mail Bridge (the default) or any IMAP server")] = None,
    host: Annotated[str | None, Parameter(help="the mail server; Bridge is looked for on this machine")] = None,
    port: Annotated[
        int | None, Parameter(help="its IMAP port; Bridge is looked for on 1143 and those after it")
    ] = None,
    security: Annotated[Security | None, Parameter(help="for --kind imap; plain only towards this machine")] = None,
    username: Annotated[str | None, Parameter(help="the login name; on Bridge the address it shows")] = None,
    password_file: Annotated[
        Path | None, Parameter(help="its first line is the password ('-': standard input)", allow_leading_hyphen=True)
    ] = None,
    secret: Annotated[
        str | None,
        Parameter(help="where the password is kept (see below)"),
    ] = None,
    trust: Annotated[
        str | None, Parameter(help="the certificate to trust: sha256:… or the file Bridge exports (cert.pem)")
    ] = None,
    preset: Annotated[Preset | None, Parameter(help="what agents may do")] = None,
    recipients: Annotated[
        list[str] | None,
        Parameter(help="whom agents may write to: an address or @domain, may be repeated", negative=""),
    ] = None,
    client: Annotated[str | None, Parameter(help="a label for an agent to let in")] = None,
    program: Annotated[Program | None, Parameter(help="the program that agent lives in")] = None,
    profile: Annotated[Profile | None, Parameter(help="which tools that agent is shown")] = None,
    yes: Annotated[bool, Parameter(negative="", help="ask for no confirmation", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Connect a mail account and choose what agents may do."""
    wanted = Wanted(
        kind, host, port, security, username, secret, password_file, trust, preset, tuple(recipients or ()), client,
        program, profile, yes,
    )  # fmt: skip
    prepared = await prepare(account, wanted)
    if interactive() and not yes and not _agreed(prepared):
        raise SaidNoError
    await write(prepared)
    return _told(prepared, Printer(as_json=json))


async def prepare(account: str | None, wanted: Wanted) -> Prepared:
    """Ask, look, log in. Writes nothing; raises whatever makes it impossible to go on."""
    settings = bootstrap.settings(os.environ)
    policy_file = settings.policy_file()
    policy = policy_file.current()
    if policy_file.problem:
        raise _broken_policy(settings)
    name = account_name(account, wanted, settings.config)
    before = settings.config.accounts.get(name)
    place = wanted.secret or (before.secret if before else login.default_place(name, settings.folders))
    ours = place.partition(":")[0] in login.KEPT_BY_US
    require(
        wanted,
        before,
        password_known=not ours or await login.known(name, place),
        preset_known=access.preset_known(policy, name) is not None,
    )
    found = await server.find(wanted, before)
    say(f"{found} answers.") if found.kind is Kind.BRIDGE else None
    pin = await server.trust(found, wanted, before)
    proved = await login.prove(name, found, pin, wanted, before, settings.folders)
    say("The login works.")
    alone = set(settings.config.accounts) <= {name}
    choice = access.choose_preset(name, wanted, policy, new=before is None, alone=alone)
    preset = choice.preset if choice else access.preset_known(policy, name)
    client = access.admit(name, wanted, settings.config, preset, new=before is None)
    return Prepared(name, before, proved, choice, client)


async def write(prepared: Prepared) -> None:
    """Store the password, then the account, then the rules, then the client: each is whole or not there."""
    folders = bootstrap.settings(os.environ).folders
    account, choice, client = prepared.login.account, prepared.choice, prepared.client
    if prepared.login.password is not None:
        await Vault({prepared.name: account.secret}, os.environ).keep(prepared.name, prepared.login.password)
    editing.add_account(folders.config_file, prepared.name, _values(account))
    if client is not None:
        editing.add_client(folders.config_file, client.label, _client_values(client))
    if choice is not None:
        check = bootstrap.policy_check(bootstrap.settings(os.environ))
        if choice.recipients:  # the limit before what it limits
            editing.set_boundaries(folders.policy_file, {"recipients": list(choice.recipients)}, check)
        editing.choose_preset(folders.policy_file, choice.preset.value, check, account=choice.account)


def _values(account: Account) -> dict[str, editing.Value]:
    """Return the account as config.toml shall say it: what is as usual is left out."""
    plain = Account(
        kind=account.kind, username=account.username, secret=account.secret, certificate=account.certificate
    )
    usual = {"host": plain.host, "imap_port": plain.imap, "smtp_port": plain.smtp, "security": plain.protection}
    told: dict[str, editing.Value] = {"kind": account.kind.value}
    for key, value in account.model_dump(mode="json", exclude={"kind"}).items():
        told[key] = None if key in usual and value == usual[key] else value
    return told


def _client_values(client: Admitted) -> dict[str, editing.Value]:
    told: dict[str, editing.Value] = {}
    if client.profile is not None:
        told["profile"] = client.profile.value
    if client.accounts is not None:
        told["accounts"] = client.accounts
    return told


def _agreed(prepared: Prepared) -> bool:
    folders = bootstrap.settings(os.environ).folders
    account, choice, client = prepared.login.account, prepared.choice, prepared.client
    what = "mended" if prepared.before else "added"
    say(
        "",
        f"This will be written into {folders.config}:",
        f"  account `{prepared.name}` is {what} ({account.kind.value})",
    )
    if prepared.login.password is not None:
        say(f"  its password goes to {_kept(account)}")
    if choice is not None:
        whose = f"account `{choice.account}`" if choice.account else "everything"
        say(f"  preset {choice.preset.value} for {whose}: {access.MEANINGS[choice.preset]}")
    if choice is not None and choice.recipients:
        say(f"  agents may write to: {', '.join(choice.recipients)}")
    if client is not None:
        say(f"  client `{client.label}` is let in")
    return confirm("Write it?", flag="--yes")


def _kept(account: Account) -> str:
    kind, _, where = account.secret.partition(":")
    return "the system's keyring" if kind == "keyring" else where


def _told(prepared: Prepared, printer: Printer) -> Exit:
    account, client, trial = prepared.login.account, prepared.client, prepared.login.trial
    told: dict[str, Any] = {
        "status": "ok",
        "account": prepared.name,
        "kind": account.kind.value,
        "host": account.host,
        "imap_port": account.imap,
        "version": trial.health.version or None,
        "mailboxes": trial.mailboxes,
        "syncing": trial.health.syncing,
        "certificate": account.certificate,
        "secret": account.secret.partition(":")[0],
        "preset": _preset_now(prepared.name),
        "client": client.label if client else None,
        "configuration": snippet(client.program, client.label) if client else None,
    }
    told = {key: value for key, value in told.items() if value is not None}
    if printer.as_json:
        printer.json(told)
        return Exit.DONE
    printer.line(f"account `{prepared.name}` is connected: {trial.mailboxes} mailboxes, preset {told['preset']}")
    if trial.health.syncing:
        printer.line("Bridge still takes in the mailbox; until it is done older mail is missing from answers")
    if client is not None:
        printer.line(f"for {client.program.value}, {client.program.place}:")
        printer.line("")
        printer.line(told["configuration"])
        printer.line("")
    elif not bootstrap.settings(os.environ).config.clients:
        printer.line("let an agent in: mcp-proton clients add hermes")
    printer.line("look at your mail: mcp-proton do mailboxes_overview")
    return Exit.DONE


def _preset_now(name: str) -> str | None:
    settings = bootstrap.settings(os.environ)
    found = access.preset_known(settings.policy_file().current(), name)
    return found.value if found else None


def _broken_policy(settings: bootstrap.Settings) -> Misconfigured:
    """Return the complaints about policy.toml: nothing can be written into a file that cannot be read."""
    try:
        bootstrap.read_policy(settings, settings.folders.policy_file)
    except Misconfigured as error:
        return error
    return Misconfigured([Complaint((), "cannot be used", settings.folders.policy_file.name)])
