"""The programs agents live in: what each wants to read about us, where, and how it is tried.

A client's token stands in no configuration we print: each program reads it from where it keeps secrets.
"""

from mcp_proton.admin.programs.guides import Guide, guide
from mcp_proton.admin.programs.program import Program, guess
from mcp_proton.admin.programs.snippets import SERVER, snippet
from mcp_proton.admin.programs.ways import TOKEN, TOKEN_FILE, Process, Remote, connected, own_program, started

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
