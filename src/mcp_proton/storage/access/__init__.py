"""Who may come in and what they may do, in the store and in the owner's files."""
