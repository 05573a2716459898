"""SMTP replies, and what ends a command with another than the good one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    """A reply of one line; its text may hold a line end where Bridge quotes a mail."""

    code: int
    enhanced: str
    text: str

    def __bytes__(self) -> bytes:
        words = f"{self.code} {self.enhanced} {self.text}" if self.enhanced else f"{self.code} {self.text}"
        return words.encode("utf-8", "surrogateescape") + b"\r\n"


class ReplyError(Exception):
    """A command ends with this reply."""

    def __init__(self, code: int, enhanced: str, text: str) -> None:
        super().__init__(text)
        self.reply = Reply(code, enhanced, text)


class BadCommandError(ReplyError):
    """A command that isn't one; four of them end the connection."""


class SendError(Exception):
    """A mail isn't taken; the text goes into the 554, whatever the reason was.

    `is_identity` says that the sender was refused for who it is; `closes_smtp` that Bridge takes the failure for a lost
    network.
    """

    def __init__(self, text: str, *, is_identity: bool = False, closes_smtp: bool = False) -> None:
        super().__init__(text)
        self.is_identity = is_identity
        self.closes_smtp = closes_smtp

    @property
    def reply(self) -> Reply:
        """The reply after DATA."""
        return Reply(554, "5.0.0", f"Error: {self}")
