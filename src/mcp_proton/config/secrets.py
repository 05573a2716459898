"""Where a secret is, as the owner writes it. The secret itself never stands in a file of ours."""

import re

_SECRET = re.compile(r"keyring(:.+)?|systemd:[A-Za-z0-9._@-]+|env:[A-Za-z_][A-Za-z0-9_]*|file:.+|command:.+")


def secret_place(text: str) -> str:
    """Return the text. ValueError unless it says where a secret is."""
    if _SECRET.fullmatch(text) is None:
        raise ValueError(
            "must say where the password is, never the password itself: keyring, file:PATH, systemd:NAME, env:NAME "
            "or command:PROGRAM"
        )
    return text


CALLER = "caller"
"""Stands for the token of whoever asks: it is stored nowhere."""


def account_secret(text: str) -> str:
    """Return the text. ValueError unless it says where a secret is, or that callers show theirs."""
    return text if text == CALLER else secret_place(text)
