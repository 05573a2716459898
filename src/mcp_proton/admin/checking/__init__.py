"""What `mcp-proton doctor` looks at on this machine, in an account, in a client's program."""
