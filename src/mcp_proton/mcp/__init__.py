"""The MCP surface: the only package that knows FastMCP. Everything it offers goes through the one door.

FastMCP reads its settings when it is first imported; importing this package settles them before that.
"""

from mcp_proton.mcp.environment import settle

settle()
