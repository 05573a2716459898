"""The owner's surface: a command line. Never imported by the MCP surface."""
