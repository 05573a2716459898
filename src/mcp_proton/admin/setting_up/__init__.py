"""What `mcp-proton setup` asks, tries and writes."""
