"""`mcp-proton mcp`: the door for agents over standard input and output."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton.config.tables import Profile

app = App(
    name="mcp",
    help_epilogue="""Agents start this themselves: `mcp-proton clients add LABEL` prints what to put
into their configuration. It ends with its client.

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
    # `__main__` serves, by a shorter way than this module; what is here is what `--help` prints.
    raise AssertionError("`mcp` is dispatched before the owner's commands are loaded")
