"""SMTP as Bridge 3.21 speaks it, and what becomes of a mail on its way to the account (facts 11)."""
