"""What `mcp-proton doctor --client` looks at: its program's own flow, over each way it has to us, and who is asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_proton.admin import client_tokens
from mcp_proton.admin.check import Check, State, fix, ok
from mcp_proton.admin.flows.flow import flow
from mcp_proton.admin.flows.lines import NoAnswerError, Pipe, Web
from mcp_proton.admin.flows.saying import Saying
from mcp_proton.admin.programs import TOKEN, TOKEN_FILE, Process, Program, Remote, guess, started
from mcp_proton.admin.world import known_account
from mcp_proton.config.serving import place

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.admin.flows.flow import Flow
    from mcp_proton.bootstrap import Settings


async def client(
    settings: Settings, name: str, program: Program | None, token_file: Path | None, account: str | None = None
) -> list[Check]:
    """Say the flow of a client's program over standard input and output, and to the always-on service.

    Its call is for `account`; for None it names none. Raises `NotFound` for an account that is not there.
    """
    if account is not None:
        known_account(settings, account)
        given = settings.config.accounts_of(name)
        if given is not None and account not in given:
            following = f"name it in `accounts` of `[clients.{name}]` in config.toml"
            return [fix(f"{name}: account", f"`{account}` was not given to it", following)]
    chosen = program or guess(name) or Program.OTHER
    known = flow(chosen)
    found = await _through(f"{name}, started by {chosen.value}", known, started(name), account)
    found += await _service(settings, name, chosen, known, token_file, account)
    return [*found, _asked(settings, name, chosen, known)]


async def _through(title: str, known: Flow, way: Process, account: str | None) -> list[Check]:
    try:
        line = await Pipe.opened(way)
    except NoAnswerError as error:
        return [fix(title, error.why, error.next)]
    return [one async for one in Saying(title, known, line, account).told()]


async def _service(
    settings: Settings, name: str, program: Program, known: Flow, token_file: Path | None, account: str | None
) -> list[Check]:
    title = f"{name} at the service"
    if name not in await client_tokens.kept(settings):
        return [Check(title, State.SKIP, "it has no token", f"`mcp-proton clients rotate {name}` makes one")]
    way = client_tokens.way(settings, name, token_file)
    file = token_file or (way.token_file if isinstance(way, Remote) else None)
    token = _token(file) if token_file else os.environ.get(TOKEN) or _token(file)
    if token is None:
        following = f"say where it is: --token-file, {TOKEN_FILE} or {TOKEN}"
        return [Check(title, State.SKIP, "its token is known to it alone", following)]
    title = f"{title}, as {program.value}"
    service = place(settings.config.service.listen)
    if not known.speaks_http or isinstance(way, Process):
        passed = {"MCP_PROTON_URL": str(service) if service.path else f"http://{service}/mcp", TOKEN: token}
        return await _through(title, known, Process(("connect",), passed), account)
    found: list[Check] = []
    for _ in range(known.sessions):
        found = [one async for one in Saying(title, known, Web(service, token), account).told()]
    return found


def _token(file: Path | None) -> str | None:
    named = os.environ.get(TOKEN_FILE)
    for path in (file, named):
        if path is not None:
            try:
                with open(path, encoding="ascii") as text:  # noqa: PTH123 - a path or a name
                    return text.readline().strip() or None
            except (OSError, ValueError):
                continue
    return None


def _asked(settings: Settings, name: str, program: Program, known: Flow) -> Check:
    """Tell where approvals of this client's are answered."""
    title = f"{name}: approvals"
    can = "elicitation" in known.capabilities
    if settings.config.reviews(name):
        if not can:
            why = f"`review` is on, and {program.value} cannot ask its user for us"
            return fix(title, why, f"`mcp-proton clients review {name} --off`")
        return ok(title, f"answered in it too{f': {known.asks}' if known.asks else ''}")
    could = f"; it could be: `mcp-proton clients review {name}`" if can else ""
    return ok(title, f"answered by `mcp-proton approvals`{could}")
