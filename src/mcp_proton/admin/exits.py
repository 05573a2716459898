"""Exit codes: what a script may rely upon. `mcp-proton --help` prints them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    ATTENTION = 1
    USAGE = 2
    WAITING = 3
    REFUSED = 4
    UNAVAILABLE = 5
    UNSURE = 6
    FAULT = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANING = {
    Exit.DONE: "done",
    Exit.ATTENTION: "something needs your attention: a finding, a difference",
    Exit.USAGE: "the command line or a file of yours makes no sense",
    Exit.WAITING: "it waits for approval",
    Exit.REFUSED: "refused, stale, not found, conflict or not supported",
    Exit.UNAVAILABLE: "the mail server or the store cannot be reached",
    Exit.UNSURE: "done in part, or nobody knows yet",
    Exit.FAULT: "a fault of ours",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE_CLOSED: "whoever read the output went away",
}

_BY_STATUS = {
    "ok": Exit.DONE,
    "approval_pending": Exit.WAITING,
    "unavailable": Exit.UNAVAILABLE,
    "partly_done": Exit.UNSURE,
    "unsure": Exit.UNSURE,
    "not_done": Exit.UNSURE,
}


def of_status(status: str) -> Exit:
    """Return the exit code of an answer."""
    return _BY_STATUS.get(status, Exit.REFUSED)
