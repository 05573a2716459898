"""Our IMAP client: octets, commands, answers, connections, sessions, and the pool they come from. Knows nothing of handles."""
