"""Bridge's local view of an account: mailboxes with UIDs, and what sessions are told of changes."""
