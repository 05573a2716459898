"""`mcp-proton mcp`: the door for agents over standard input and output."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from mcp_proton.config.tables import Profile


def mcp(
    *,
    client: Annotated[str | None, Parameter(help="the client's label in config.toml")] = None,
    profile: Annotated[Profile | None, Parameter(help="which tools to show; else as config.toml says")] = None,
    demo: Annotated[
        bool,
        Parameter(negative="", help="serve the demonstration mailbox; no configuration needed", show_default=False),
    ] = False,
) -> None:
    """Serve MCP over standard input and output, until it ends.

    Agents start this themselves: `mcp-proton clients add NAME` prints what to put into their configuration. Schedules and
    watching need the always-on service; this process ends with its client.
    """
    # `__main__` serves, by a shorter way than this module; what is here is what `--help` prints.
    raise AssertionError("`mcp` is dispatched before the owner's commands are loaded")
