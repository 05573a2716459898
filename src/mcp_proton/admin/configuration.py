"""`mcp-proton config`: where the owner's files are, and whether they are right. `mcp-proton passphrase` sets that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin import passphrase, policy
from mcp_proton.admin.asking import secret
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.setting_up.login import first_line
from mcp_proton.config import folders
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.errors import Invalid

app = App(
    name="config",
    help_epilogue="""Examples:
  mcp-proton config check && echo both are right
  $EDITOR "$(mcp-proton config paths --json | jq -r .policy)\"""",
)


@app.command
def check(*, json: AsJson = False) -> Exit:
    """Check config.toml and policy.toml; each complaint names file, line and key. Exits with 2 when there is one."""
    printer = Printer(as_json=json)
    found = folders.find(os.environ)
    try:
        complaints = policy.check(bootstrap.settings(os.environ))
    except Misconfigured as error:
        complaints = [str(one) for one in error.complaints]
    missing = [path.name for path in (found.config_file, found.policy_file) if not path.exists()]
    if json:
        told = {"complaints": complaints, "missing": missing}
        status = {"status": "refused", "code": "misconfigured"} if complaints else {"status": "ok"}
        printer.json({**status, **{name: value for name, value in told.items() if value}})
        return Exit.USAGE if complaints else Exit.DONE
    for complaint in complaints:
        printer.line(complaint)
    for name in missing:
        printer.line(f"{name}: is not there yet; `mcp-proton setup` writes it")
    if not complaints and not missing:
        printer.line("config.toml and policy.toml are right")
    return Exit.USAGE if complaints else Exit.DONE


@app.command
def paths(*, json: AsJson = False) -> Exit:
    """Print where everything is kept. MCP_PROTON_HOME moves all of it under one folder."""
    found = folders.find(os.environ)
    rows = {
        "config": found.config_file,
        "policy": found.policy_file,
        "database": found.database,
        "artifacts": found.artifacts,
        "cache": found.cache,
    }
    return Printer(as_json=json).answer({"status": "ok", **{name: str(path) for name, path in rows.items()}})


passphrase_app = App(
    name="passphrase",
    help_epilogue="""With it you can approve where there is no terminal. Only a hash of it is kept.

  mcp-proton passphrase
  mcp-proton approvals approve op_… --passphrase-file FILE""",
)


@passphrase_app.default
def set_passphrase(
    *,
    file: Annotated[
        Path | None, Parameter(help="its first line is the passphrase ('-': standard input)", allow_leading_hyphen=True)
    ] = None,
    json: AsJson = False,
) -> Exit:
    """Set the owner passphrase."""
    given = first_line(file) if file else _asked_twice()
    try:
        passphrase.keep(given)
    except ValueError as error:
        raise Invalid(str(error)) from None
    printer = Printer(as_json=json)
    if json:
        printer.json({"status": "ok"})
    else:
        printer.line("the owner passphrase is set")
    return Exit.DONE


def _asked_twice() -> str:
    given = secret("Owner passphrase", flag="--file")
    if secret("The same again", flag="--file") != given:
        raise Invalid("the two are not the same; nothing was changed")
    return given
