"""The ways a command ends other than OK."""

from __future__ import annotations


class Refusal(Exception):
    """A tagged NO with this text."""

    word = "NO"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Misuse(Refusal):
    """A tagged BAD with this text."""

    word = "BAD"


class ProcessEnds(Exception):
    """What ends the whole Bridge process."""


NOT_AUTHENTICATED = "session is not authenticated"
NOT_SELECTED = "session is not selected"
READ_ONLY = "the mailbox is read-only"
NO_SUCH_MAILBOX = "no such mailbox"
NO_SUCH_MESSAGE = "no such message"
EXISTS_ALREADY = "a mailbox with that name already exists"
TRY_CREATE = f"[TRYCREATE] {NO_SUCH_MAILBOX}"
