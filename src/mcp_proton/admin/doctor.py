"""`mcp-proton doctor`: checks everything, one line each, and says what to do about what is wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin.asking import confirm, interactive
from mcp_proton.admin.check import Check, State
from mcp_proton.admin.checking import account_checks, client_checks, machine_checks, proofs
from mcp_proton.admin.client_tokens import TokenFile
from mcp_proton.admin.clients import Which, known
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.setup import setup
from mcp_proton.admin.world import known_account
from mcp_proton.config import folders as places
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence


app = App(
    name="doctor",
    help_epilogue="""Looks at your files and who may read them, the rules in force, the store, each
account (password, server, certificate, login, version, sync, sending) and each
client. It logs in once per account for reading and once for sending, and changes
nothing. Exits with 1 when something needs you. What it prints holds no secrets,
mail addresses or mail, so it can be shown to others.

With --prove it also tries on Bridge what a change of mail really does there:
it makes a message of its own in a folder of its own, stars, labels, moves,
unlabels and destroys it, and writes down what happened. What comes out
otherwise is refused from then on; what was never seen is asked about. It
takes about ten minutes, and what it made is taken away, at the next start
if it is interrupted.

With --client it says what that client's program says, recorded from the program
itself where it could be: over standard input and output, and to the running
service; and tells what would fail there, and why. Its call is for the account
that is named, else for the default one.

  mcp-proton doctor
  mcp-proton doctor personal --json
  mcp-proton doctor personal --client hermes
  mcp-proton doctor --client hermes --token-file ~/.config/mcp-proton/hermes.token
  mcp-proton doctor personal --prove""",
)


@app.default
async def doctor(
    account: Annotated[str | None, Parameter(help="look at this account alone")] = None,
    /,
    *,
    prove: Annotated[
        bool, Parameter(help="try on Bridge what changes of mail do, with a message of its own", negative="")
    ] = False,
    yes: Annotated[bool, Parameter(help="try it without asking", negative="")] = False,
    client: Annotated[
        str | None,
        Parameter(help="do what this client's program does, on the account if one is named, and nothing else"),
    ] = None,
    program: Which = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> Exit:
    """Check everything and say what to do about what is wrong."""
    if client is not None:
        if prove:
            raise Invalid("--prove tries an account and --client a client's program", next="run one after the other")
        settings = known(bootstrap.settings(os.environ), client)
        found = await client_checks.client(settings, client, program, token_file, account)
    elif program is not None or token_file is not None:
        raise Invalid("--program and --token-file are for --client", next="name the client: --client LABEL")
    else:
        proved = await proofs.prove(account, yes=yes) if prove else []
        found = [*await examine(account), *proved]
    printer = Printer(as_json=json)
    ill = [one for one in found if one.state is State.FIX]
    if json:
        printer.json({"status": "ok", "well": not ill, "checks": [_as_row(one) for one in found]})
    elif printer.for_person:
        _show(found, printer)
    else:
        printer.table([_as_row(one) for one in found])
    broken = next((one.repair for one in ill if one.repair), None)
    if broken and not json and interactive() and confirm(f"Mend account {broken} now?", flag="mcp-proton setup"):
        return await setup(broken)
    return Exit.ATTENTION if ill else Exit.DONE


async def examine(account: str | None = None) -> list[Check]:
    """Look at everything, or at one account. Raises `NotFound` for an account that is not there."""
    folders = places.find(os.environ)
    try:
        settings = bootstrap.settings(os.environ)
    except Misconfigured as error:
        return list(machine_checks.files(error, folders))
    if account is not None:
        return await account_checks.account(account, known_account(settings, account))
    found = [
        *machine_checks.files(settings, folders),
        await machine_checks.rules(settings),
        await machine_checks.store(settings),
    ]
    for name, one in settings.config.accounts.items():
        found += await account_checks.account(name, one)
    return found + await machine_checks.clients(settings)


def _show(found: Sequence[Check], printer: Printer) -> None:
    """Print a line for each check, with what to do below it."""
    printer.grid(
        [one.state.value, one.name, one.what + (f"\n> {one.next}" if one.next and one.state is not State.OK else "")]
        for one in found
    )


def _as_row(one: Check) -> dict[str, str]:
    told = {"state": one.state.value, "check": one.name, "what": one.what, "next": one.next}
    return {name: value for name, value in told.items() if value}
