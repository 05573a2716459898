"""mcp-proton: a person's whole mail for any MCP agent, under the owner's rules."""

__version__ = "0.1.0"
