"""The Proton account behind Bridge, as its API keeps it, and Bridge's way to it."""
