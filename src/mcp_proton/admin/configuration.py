"""`mcp-proton config`: where the owner's files are, and whether they are right."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003  # cyclopts reads annotations

from cyclopts import App

from mcp_proton import bootstrap
from mcp_proton.config import folders
from mcp_proton.domain.complaint import Misconfigured

from . import passphrase, policy
from .asking import secret
from .exits import Exit
from .printing import AsJson, Printer

app = App(name="config", help="Check your files, and see where they are.")


@app.command
def check(*, json: AsJson = False) -> Exit:
    """Check config.toml and policy.toml; each complaint names file, line and key."""
    printer = Printer(as_json=json)
    try:
        complaints = policy.check(bootstrap.settings(os.environ))
    except Misconfigured as error:
        complaints = [str(one) for one in error.complaints]
    if json:
        printer.json({"status": "ok" if not complaints else "refused", "complaints": complaints})
    for complaint in () if json else complaints:
        printer.line(complaint)
    if not complaints and not json:
        printer.line("both files are right")
    return Exit.USAGE if complaints else Exit.DONE


@app.command
def paths(*, json: AsJson = False) -> Exit:
    """Print where everything is kept."""
    found = folders.find(os.environ)
    rows = {
        "config": found.config_file,
        "policy": found.policy_file,
        "database": found.database,
        "artifacts": found.artifacts,
        "cache": found.cache,
    }
    return Printer(as_json=json).answer({"status": "ok", **{name: str(path) for name, path in rows.items()}})


def set_passphrase(*, file: Path | None = None) -> Exit:
    """Set the owner passphrase (asked for, or the first line of --file)."""
    given = file.read_text().split("\n", 1)[0] if file else secret("owner passphrase", flag="--file")
    printer = Printer()
    try:
        passphrase.keep(given)
    except ValueError as error:
        printer.remark(str(error))
        return Exit.USAGE
    printer.line("the owner passphrase is set")
    return Exit.DONE
