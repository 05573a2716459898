"""Octets ↔ meaning: pure functions that never raise on bad mail and report what they hid, guessed or left out."""
