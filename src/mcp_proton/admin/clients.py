"""`mcp-proton clients`: the agents the owner lets in, each under a label, their tokens, and how to tell each about us."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin import client_tokens
from mcp_proton.admin.asking import confirm
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.live_check import review
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.programs import Process, Program, Remote, guess, guide, snippet, started
from mcp_proton.admin.setting_up.wanted import flag, labelled
from mcp_proton.config import editing
from mcp_proton.config.values import Profile
from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.errors import NotFound

if TYPE_CHECKING:
    from mcp_proton.storage.access.switches import SqlSwitches


class Way(StrEnum):
    """How a client's program reaches us."""

    STDIO = "stdio"
    HTTP = "http"
    CONNECT = "connect"


app = App(
    name="clients",
    help_epilogue="""Examples:
  mcp-proton clients add hermes
  mcp-proton clients add coder --program codex --profile reader --account work
  mcp-proton clients add cursor --token-file ~/.config/mcp-proton/cursor.token
  mcp-proton clients config hermes --program claude-desktop
  mcp-proton clients rotate hermes --days 90
  mcp-proton clients pause hermes
  mcp-proton clients review hermes""",
)

Label = Annotated[str, Parameter(help="the client's label")]
Which = Annotated[
    Program | None, Parameter(help="the program whose configuration to print; else the one the label is named after")
]


@app.command(name="list")
async def list_clients(*, json: AsJson = False) -> Exit:
    """List the clients in config.toml, with what may be shown of their tokens."""
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    tokens, switches = await client_tokens.kept(settings), await bootstrap.switches_now(settings)
    rows = []
    for name, one in settings.config.clients.items():
        row: dict[str, object] = {"client": name, "profile": one.profile.value, "accounts": one.accounts or ["all"]}
        if (token := tokens.get(name)) is not None:
            row["token"] = token.shown
            if token.expires is not None:
                row["expires_at"] = token.expires.isoformat(timespec="seconds").replace("+00:00", "Z")
        if name in switches.paused_clients | switches.revoked_clients:
            row["now"] = "revoked" if name in switches.revoked_clients else "paused"
        rows.append(row)
    if not rows and not json:
        printer.remark("no agent is let in yet: `mcp-proton clients add LABEL`")
    return printer.answer({"status": "ok", "clients": rows})


@app.command
async def add(
    name: Label,
    /,
    *,
    profile: Annotated[Profile | None, Parameter(help="which tools it is shown (core, unless said)")] = None,
    account: Annotated[
        list[str] | None, Parameter(help="an account it may use, may be repeated; left out: all", negative="")
    ] = None,
    program: Which = None,
    token: Annotated[
        bool,
        Parameter(negative="", help="make a token for the always-on service (mcp-proton serve)", show_default=False),
    ] = False,
    days: client_tokens.Days = None,
    token_file: client_tokens.TokenFile = None,
    json: AsJson = False,
) -> Exit:
    """Let an agent in under a label, and print what to put into its configuration.

    For a client that is there already only what is given changes.
    """
    settings = bootstrap.settings(os.environ)
    label = flag("NAME", labelled, name)
    listed = settings.config.clients.get(label)
    shown = profile or (listed.profile if listed else Profile.CORE)
    values: dict[str, editing.Value] = {"profile": shown.value}
    if account:
        values["accounts"] = list(account)
    editing.add_client(settings.folders.config_file, label, values)
    more: dict[str, object] = {"profile": shown.value, "accounts": account}
    if token or days is not None or token_file is not None:
        return await _new_token(Printer(as_json=json), label, program, days, token_file, more)
    return _print(Printer(as_json=json), label, program, more, started(label))


@app.command
async def rotate(
    name: Label,
    /,
    *,
    days: client_tokens.Days = None,
    token_file: client_tokens.TokenFile = None,
    program: Which = None,
    json: AsJson = False,
) -> Exit:
    """Make a new token for the always-on service, and end the one before at once. It is shown only now."""
    known(bootstrap.settings(os.environ), name)
    return await _new_token(Printer(as_json=json), name, program, days, token_file, {})


@app.command
async def remove(
    name: Label,
    /,
    *,
    yes: Annotated[bool, Parameter(negative="", help="do not ask", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Take a client out of config.toml; from then on it is refused."""
    printer = Printer(as_json=json)
    settings = bootstrap.settings(os.environ)
    known(settings, name)
    if not yes and not confirm(f"Remove client {name}?", flag="--yes"):
        printer.remark("nothing was changed")
        return Exit.REFUSED
    editing.remove_client(settings.folders.config_file, name)
    await client_tokens.withdrawn(settings, name)
    return printer.answer({"status": "ok", "removed": name})


@app.command
async def pause(name: Label, /, *, json: AsJson = False) -> Exit:
    """Stop a client at once, until it is resumed. What it is doing stops between two messages."""
    return await _switch(name, "paused", lambda switches: switches.pause_client(name), json=json)


@app.command
async def resume(name: Label, /, *, json: AsJson = False) -> Exit:
    """Let a paused client go on."""
    return await _switch(name, "resumed", lambda switches: switches.resume_client(name), json=json)


@app.command
async def revoke(name: Label, /, *, json: AsJson = False) -> Exit:
    """Take a client's access away at once, its grants and its token with it. `clients restore` gives access back."""
    await client_tokens.withdrawn(known(bootstrap.settings(os.environ), name), name)
    return await _switch(name, "revoked", lambda switches: switches.revoke_client(name), json=json)


@app.command
async def restore(name: Label, /, *, json: AsJson = False) -> Exit:
    """Give a revoked client its access back; its grants stay gone, and a token is made by `clients rotate`."""
    return await _switch(name, "restored", lambda switches: switches.restore_client(name), json=json)


async def _switch(name: str, done: str, act: Callable[[SqlSwitches], Awaitable[None]], *, json: bool) -> Exit:
    settings = bootstrap.settings(os.environ)
    known(settings, name)
    async with bootstrap.switched(settings) as (switches, _):
        await act(switches)
    return Printer(as_json=json).answer({"status": "ok", "client": name, "now": done})


@app.command(name="config")
async def show_config(
    name: Label,
    /,
    *,
    program: Which = None,
    way: Annotated[
        Way | None,
        Parameter(
            help="stdio: it starts a service of its own; http or connect: it reaches `mcp-proton serve`. Left out: that "
            "service where the client has a token for it"
        ),
    ] = None,
    token_file: client_tokens.TokenFile = None,
    json: AsJson = False,
) -> Exit:
    """Print what to put into a program's configuration for a client, where it goes, and how to try it."""
    settings = known(bootstrap.settings(os.environ), name)
    if way is None:
        way = Way.HTTP if name in await client_tokens.kept(settings) else Way.STDIO
    reach: Process | Remote = started(name)
    if way is not Way.STDIO:
        reach = client_tokens.way(settings, name, token_file, through=way is Way.CONNECT)
    return _print(Printer(as_json=json), name, program, {}, reach)


app.command(review)


async def _new_token(
    printer: Printer, label: str, program: Program | None, days: int | None, file: Path | None, more: dict[str, object]
) -> Exit:
    settings = bootstrap.settings(os.environ)
    made = await client_tokens.issued(settings, label, days)
    reach = client_tokens.way(settings, label, file)
    if file is not None:
        client_tokens.put_down(made, file)
        return _print(printer, label, program, {**more, "token_file": str(file)}, reach)
    if not printer.as_json:
        printer.remark("the client's token, shown only now; an earlier one is over:")
        printer.line(made)
    return _print(printer, label, program, {**more, "token": made}, reach)


def _print(
    printer: Printer, label: str, program: Program | None, more: dict[str, object], reach: Process | Remote
) -> Exit:
    """Print the configuration on standard output, and what to do with it beside."""
    chosen = program or guess(label) or Program.OTHER
    text, advice = snippet(chosen, reach), guide(chosen, reach)
    trials = [advice.trial, f"`mcp-proton doctor --client {label}` says what it says, and tells what would fail"]
    if printer.as_json:
        told = {name: value for name, value in more.items() if value}
        told |= {"program": chosen.value, "place": advice.place, "configuration": text}
        told |= {"token_goes": advice.token} if advice.token else {}
        printer.json({"status": "ok", "client": label, **told, "try": trials})
        return Exit.DONE
    printer.remark(f"for {chosen.value}, {advice.place}:")
    for line in text.splitlines():
        printer.line(line)
    if advice.token:
        printer.remark(f"its token goes: {advice.token}")
    for trial in trials:
        printer.remark(f"to try it: {trial}")
    return Exit.DONE


def known(settings: bootstrap.Settings, name: str) -> bootstrap.Settings:
    """Return the settings. Raises `NotFound` for a client that is not let in."""
    if name not in settings.config.clients:
        near = nearest(name, settings.config.clients)
        raise NotFound(f"there is no client `{name}`{near}", next="`mcp-proton clients list` names them")
    return settings
