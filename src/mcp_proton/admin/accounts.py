"""`mcp-proton accounts`: which there are, how they are, taking one away. `mcp-proton setup` adds one."""

from __future__ import annotations

import os

from cyclopts import App

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.domain.caller import owner
from mcp_proton.services.answers import answer
from mcp_proton.services.operations.accounts import AccountsHealth, CapabilitiesReport

from .asking import confirm
from .exits import Exit
from .printing import AsJson, Printer
from .world import opened

app = App(name="accounts", help="See, check and remove accounts.")


@app.command(name="list")
def list_accounts(*, json: AsJson = False) -> Exit:
    """List the accounts in config.toml."""
    config = bootstrap.settings(os.environ).config
    rows = [
        {
            "account": name,
            "kind": one.kind.value,
            "host": one.host,
            "imap port": one.imap,
            "protection": one.protection.value,
            "default": name == config.default_account,
        }
        for name, one in config.accounts.items()
    ]
    return Printer(as_json=json).answer({"status": "ok", "accounts": rows})


@app.command
async def health(account: str | None = None, /, *, json: AsJson = False) -> Exit:
    """Look whether accounts are connected and in sync."""
    printer = Printer(as_json=json)
    async with opened() as service:
        told = answer(await service.submit(owner(), AccountsHealth(account=account)))
    code = printer.answer(told)
    well = all(one["connected"] for one in told.get("accounts", []))
    return code if well or code is not Exit.DONE else Exit.UNAVAILABLE


@app.command
async def capabilities(account: str | None = None, /, *, json: AsJson = False) -> Exit:
    """Tell what an account can do, and how we know."""
    async with opened() as service:
        return Printer(as_json=json).answer(answer(await service.submit(owner(), CapabilitiesReport(account=account))))


@app.command
def remove(account: str, /, *, yes: bool = False, json: AsJson = False) -> Exit:
    """Take an account out of config.toml. The mail itself is not touched, nor is its stored password."""
    printer = Printer(as_json=json)
    if not yes and not confirm(f"remove account {account} from config.toml?", flag="--yes"):
        printer.remark("nothing was changed")
        return Exit.REFUSED
    editing.remove_account(bootstrap.settings(os.environ).folders.config_file, account)
    return printer.answer({"status": "ok", "removed": account})
