"""`mcp-proton mcp`, `serve` and `connect`: the doors for agents. `__main__` opens them by a shorter way than this module;
what is here is what `--help` prints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton.config.values import Profile

app = App(
    name="mcp",
    help_epilogue="""Agents start this themselves: `mcp-proton clients add LABEL` prints what to put
into their configuration. It ends with its client, and nothing goes on then:
watching mail, schedules and work in the background need `mcp-proton serve`.

  mcp-proton mcp --client hermes
  mcp-proton mcp --demo""",
)


@app.default
def mcp(
    *,
    client: Annotated[str | None, Parameter(help="the client's label in config.toml")] = None,
    profile: Annotated[Profile | None, Parameter(help="which tools to show; else as config.toml says")] = None,
    demo: Annotated[
        bool,
        Parameter(negative="", help="serve the demonstration mailbox; no configuration needed", show_default=False),
    ] = False,
) -> None:
    """Serve MCP over standard input and output, until it ends."""
    raise AssertionError("`mcp` is dispatched before the owner's commands are loaded")


serve_app = App(
    name="serve",
    help_epilogue="""Each client shows a token: `mcp-proton clients add LABEL --token` makes one. It
listens where `[service]` of config.toml says (127.0.0.1:8420, unless you
change it), and ends in order on SIGTERM or Ctrl-C. It stays when clients go:
watching mail, schedules and work in the background need it.

  mcp-proton serve
  mcp-proton serve --listen unix:/run/mcp-proton/mcp.sock
  mcp-proton serve --demo""",
)


@serve_app.default
def serve(
    *,
    listen: Annotated[str | None, Parameter(help="where to listen on this machine; else as config.toml says")] = None,
    demo: Annotated[
        bool,
        Parameter(negative="", help="serve the demonstration mailbox; no configuration needed", show_default=False),
    ] = False,
) -> None:
    """Serve MCP over HTTP to all your clients, until it is ended."""
    raise AssertionError("`serve` is dispatched before the owner's commands are loaded")


connect_app = App(
    name="connect",
    help_epilogue="""For programs that only start MCP servers of their own. It waits for a service
that is being restarted, and never sends a call twice that may have acted. The
client's token comes from MCP_PROTON_TOKEN, or from a file.

  mcp-proton clients config LABEL --way connect
  mcp-proton connect --url unix:/run/mcp-proton/mcp.sock --token-file token""",
)


@connect_app.default
def connect(
    *,
    url: Annotated[
        str | None,
        Parameter(help="where the service is: http, https or unix:/path; else MCP_PROTON_URL, else this machine"),
    ] = None,
    token_file: Annotated[Path | None, Parameter(help="a file with the client's token; else MCP_PROTON_TOKEN")] = None,
) -> None:
    """Reach the always-on service over standard input and output."""
    raise AssertionError("`connect` is dispatched before the owner's commands are loaded")
