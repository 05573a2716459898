"""`mcp-proton accounts`: which there are, how they are, taking one away. `mcp-proton setup` adds one."""

from __future__ import annotations

import os
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin.asking import confirm
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.filling import filled
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.world import known_account, opened
from mcp_proton.config import editing
from mcp_proton.config.tables import Account
from mcp_proton.config.values import Kind
from mcp_proton.domain.caller import owner
from mcp_proton.services.operations.accounts import AccountsHealth, CapabilitiesReport
from mcp_proton.services.presenting.answers import answer
from mcp_proton.storage.vault import Vault

app = App(
    name="accounts",
    help_epilogue="""Examples:
  mcp-proton accounts list
  mcp-proton accounts health personal""",
)
Name = Annotated[str | None, Parameter(help="the account's short name")]


@app.command(name="list")
def list_accounts(*, json: AsJson = False) -> Exit:
    """List the accounts in config.toml."""
    printer = Printer(as_json=json)
    config = bootstrap.settings(os.environ).config
    rows = [
        {
            "account": name,
            "kind": one.kind.value,
            **_place(one),
            "secret": one.secret.partition(":")[0],
            "default": name == config.default_account,
        }
        for name, one in config.accounts.items()
    ]
    if not rows and not json:
        printer.remark("no account is connected yet: `mcp-proton setup`")
    return printer.answer({"status": "ok", "accounts": rows})


def _place(one: Account) -> dict[str, object]:
    """Where an account's server is."""
    if one.kind is Kind.JMAP:
        return {"url": one.url}
    return {"host": one.host, "imap_port": one.imap, "security": one.protection.value}


@app.command
async def health(account: Name = None, /, *, json: AsJson = False) -> Exit:
    """Look whether accounts (or the one named) are connected and in sync."""
    printer = Printer(as_json=json)
    async with opened() as service:
        told = answer(await service.submit(owner(), filled(AccountsHealth, account=account)))
    code = printer.answer(told)
    well = all(one["connected"] for one in told.get("accounts", []))
    return code if well or code is not Exit.DONE else Exit.UNAVAILABLE


@app.command
async def capabilities(account: Name = None, /, *, json: AsJson = False) -> Exit:
    """Tell what an account can do, and how we know: the server is asked first."""
    async with opened() as service:
        await service.submit(
            owner(), filled(AccountsHealth, account=account)
        )  # until then nothing is known of the server
        return Printer(as_json=json).answer(
            answer(await service.submit(owner(), filled(CapabilitiesReport, account=account)))
        )


@app.command
async def remove(
    account: Annotated[str, Parameter(help="the account's short name")],
    /,
    *,
    yes: Annotated[bool, Parameter(negative="", help="do not ask", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Take an account out of config.toml, and its password out of the keyring or file that holds it.

    The mail itself is not touched. A password that is kept elsewhere (env, command, systemd) stays where it is.
    """
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    listed = known_account(settings, account)
    if not yes and not confirm(f"Remove account {account} and its stored password?", flag="--yes"):
        printer.remark("nothing was changed")
        return Exit.REFUSED
    editing.remove_account(settings.folders.config_file, account)
    await Vault({account: listed.secret}, os.environ).forget(account)
    return printer.answer({"status": "ok", "removed": account})
