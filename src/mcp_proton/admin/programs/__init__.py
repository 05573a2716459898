"""The programs agents live in: what each wants to read about us, where, and how it is tried.

A client's token stands in no configuration we print: each program reads it from where it keeps secrets.
"""

from .guides import Guide, guide
from .program import Program, guess
from .snippets import SERVER, snippet
from .ways import TOKEN, TOKEN_FILE, Process, Remote, connected, own_program, started

__all__ = [
    "SERVER",
    "TOKEN",
    "TOKEN_FILE",
    "Guide",
    "Process",
    "Program",
    "Remote",
    "connected",
    "guess",
    "guide",
    "own_program",
    "snippet",
    "started",
]
