"""Mail and files in folders the owner opened: exported, imported, nothing overwritten."""
