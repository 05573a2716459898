"""A small MCP server over stdio for the harness's own tests."""

from __future__ import annotations

import os

from fastmcp import FastMCP

server = FastMCP("probe")


@server.tool(output_schema=None)
def echo(text: str) -> str:
    """Give a text back."""
    return f"echo:{text}"


@server.tool(output_schema=None)
def environment(name: str) -> str:
    """Tell what a variable holds."""
    return os.environ.get(name, "not set")


if __name__ == "__main__":
    server.run(show_banner=False)
