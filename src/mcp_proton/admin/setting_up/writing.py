"""Writing what `mcp-proton setup` prepared, and telling of it: before, as a question, and afterwards."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton import bootstrap
from mcp_proton.admin.asking import confirm, say
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.programs import guide, snippet, started
from mcp_proton.admin.setting_up import access
from mcp_proton.admin.setting_up.login import word
from mcp_proton.config import editing
from mcp_proton.config.tables import BY_HAND, Account
from mcp_proton.config.values import Kind
from mcp_proton.storage.vault import Vault

if TYPE_CHECKING:
    from mcp_proton.admin.printing import Printer
    from mcp_proton.admin.setting_up.access import Admitted, Choice
    from mcp_proton.admin.setting_up.login import Login


@dataclass(frozen=True)
class Prepared:
    """Everything that is about to be written. Nothing was so far."""

    name: str
    before: Account | None
    login: Login
    choice: Choice | None
    client: Admitted | None


async def write(prepared: Prepared) -> None:
    """Store the password, then the account, then the rules, then the client: each is whole or not there."""
    folders = bootstrap.settings(os.environ).folders
    account, choice, client = prepared.login.account, prepared.choice, prepared.client
    if prepared.login.password is not None:
        await Vault({prepared.name: account.secret}, os.environ).keep(prepared.name, prepared.login.password)
    editing.add_account(folders.config_file, prepared.name, _values(account), oauth=_renewal(account, prepared.before))
    if client is not None:
        editing.add_client(folders.config_file, client.label, _client_values(client))
    if choice is not None:
        readable = bootstrap.policy_check(bootstrap.settings(os.environ))
        if choice.recipients:  # the limit before what it limits
            editing.set_boundaries(folders.policy_file, {"recipients": list(choice.recipients)}, readable)
        editing.choose_preset(folders.policy_file, choice.preset.value, readable, account=choice.account)


def _values(account: Account) -> dict[str, editing.Value]:
    """Return the account as config.toml shall say it: what is as usual is left out, what set-up does not ask stays."""
    plain = Account(
        kind=account.kind,
        provider=account.provider,
        auth=account.auth,
        oauth=account.oauth,
        username=account.username,
        secret=account.secret,
        certificate=account.certificate,
        url=account.url,
    )
    usual = {
        "host": plain.host,
        "imap_port": plain.imap,
        "smtp_port": plain.smtp,
        "security": plain.protection,
        "guarded_trash": plain.guarded_trash,
    }
    told: dict[str, editing.Value] = {"kind": account.kind.value}
    for key, value in account.model_dump(mode="json", exclude={"kind", *BY_HAND}).items():
        told[key] = None if key in usual and value == usual[key] else value
    return told


def _renewal(account: Account, before: Account | None) -> dict[str, editing.Value] | None:
    """Return the account's table `oauth`, as it shall be said; empty where there is none, None where it stays as it is."""
    if before is not None and before.oauth == account.oauth:
        return None
    return {} if account.oauth is None else account.oauth.model_dump(mode="json", exclude_unset=True)


def _client_values(client: Admitted) -> dict[str, editing.Value]:
    told: dict[str, editing.Value] = {}
    if client.profile is not None:
        told["profile"] = client.profile.value
    if client.accounts is not None:
        told["accounts"] = client.accounts
    return told


def agreed(prepared: Prepared) -> bool:
    """Show at the terminal what is about to be written, and ask."""
    folders = bootstrap.settings(os.environ).folders
    account, choice, client = prepared.login.account, prepared.choice, prepared.client
    what = "mended" if prepared.before else "added"
    say(
        "",
        f"This will be written into {folders.config}:",
        f"  account `{prepared.name}` is {what} ({account.kind.value})",
    )
    if prepared.login.password is not None:
        say(f"  its {word(account)} goes to {_kept(account)}")
    if account.oauth is not None:
        say(f"  access tokens are had for it at {account.token_url}, as client {account.oauth.client_id}")
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


def tell(prepared: Prepared, printer: Printer) -> Exit:
    """Print what there is now, the agent's configuration and what to try next."""
    account, client, trial = prepared.login.account, prepared.client, prepared.login.trial
    told: dict[str, Any] = {
        "status": "ok",
        "account": prepared.name,
        "kind": account.kind.value,
        "host": None if account.kind is Kind.JMAP else account.host,
        "imap_port": None if account.kind is Kind.JMAP else account.imap,
        "url": account.url,
        "version": trial.health.version or None,
        "mailboxes": trial.mailboxes,
        "syncing": trial.health.syncing,
        "sending": trial.sending,
        "certificate": account.certificate,
        "secret": account.secret.partition(":")[0],
        "token_url": account.token_url if account.oauth else None,
        "preset": _preset_now(prepared.name),
        "client": client.label if client else None,
        "configuration": snippet(client.program, started(client.label)) if client else None,
    }
    told = {key: value for key, value in told.items() if value is not None}
    if printer.as_json:
        printer.json(told)
        return Exit.DONE
    printer.line(f"account `{prepared.name}` is connected: {trial.mailboxes} mailboxes, preset {told['preset']}")
    if trial.health.syncing:
        printer.line("Bridge still takes in the mailbox; until it is done older mail is missing from answers")
    if trial.sending_trouble is not None:
        printer.line(f"sending does not work yet: {trial.sending_trouble.message}; `mcp-proton doctor` says more")
    if client is not None:
        printer.line(f"for {client.program.value}, {guide(client.program, started(client.label)).place}:")
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
