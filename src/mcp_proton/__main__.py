"""The entry point: dispatch only. `mcp`, `connect` and `serve` go to the MCP surface at once, all else is the owner's."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run `mcp-proton` with the arguments of this process, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    if arguments[:1] in (["mcp"], ["connect"], ["serve"]) and not {"--help", "-h", "--version"} & set(arguments):
        # An agent waits for the answer to `initialize`: nothing is loaded here that it does not need.
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, _end)
        return _surface(arguments[0], arguments[1:])
    from mcp_proton.admin.cli import run as command

    return command(arguments)


def _surface(name: str, arguments: list[str]) -> int:
    if name == "connect":
        from mcp_proton.mcp.connect.command import run as connect

        return connect(arguments)
    from mcp_proton.mcp import starting

    starting.begins()
    if name == "mcp":
        from mcp_proton.mcp.command import run as stdio

        return stdio(arguments)
    from mcp_proton.mcp.http.command import run as serve

    return serve(arguments)


def _end(*_: object) -> None:
    """End quietly while nothing is open yet; the server takes these signals over as soon as it runs."""
    sys.exit(0)


if __name__ == "__main__":
    main()
