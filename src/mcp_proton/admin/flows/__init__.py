"""What programs say to an MCP server, recorded, and said again: `mcp-proton doctor --client`."""
