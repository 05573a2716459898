"""Exchanges: every command that went to a mail server, and how it ended, told to whoever watches this process.

Like a log, watching is a matter of the process and not of an account: where nobody watches, it costs nothing. What is told
are words of ours and numbers; nothing that was asked or answered is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One command and its answer. `protocol` is imap, smtp or jmap; `seconds` until the answer was whole.

    `end` is ok, refused (the server said no), lost (there was no answer), or left (nobody waited for it any more).
    """

    protocol: str
    command: str
    seconds: float
    end: str


Listener = Callable[[Exchange], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Have every exchange told to a listener, in the context of whoever began it. Returns what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def heard() -> bool:
    """Say whether anybody listens: only then is there any use in measuring."""
    return bool(_listeners)


def tell(exchange: Exchange) -> None:
    """Tell all who listen."""
    for listener in _listeners:
        listener(exchange)
