"""The owner's configuration: which accounts, which clients, which folders. Typed, frozen, and never a secret in it."""
