"""Asking the owner, at a terminal. Without one every question has a flag, and its absence is a clear refusal."""

from __future__ import annotations

import getpass
import sys


class NotATerminalError(Exception):
    """A question came up and nobody is there to answer it. The message names the flag that answers it."""


def interactive() -> bool:
    """Whether a person sits at the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, *, flag: str, default: str | None = None) -> str:
    """Ask for a line of text."""
    _need_terminal(question, flag)
    hint = f" [{default}]" if default else ""
    sys.stderr.write(f"{question}{hint}: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or default or ""


def confirm(question: str, *, flag: str) -> bool:
    """Ask for a yes; anything else is a no."""
    return ask(f"{question} (yes/no)", flag=flag).lower() in ("y", "yes")


def choose(question: str, options: dict[str, str], *, flag: str, default: str) -> str:
    """Ask for one of several words, each with what it means."""
    _need_terminal(question, flag)
    for word, meaning in options.items():
        sys.stderr.write(f"  {word:<12} {meaning}\n")
    while True:
        answer = ask(question, flag=flag, default=default).lower()
        if answer in options:
            return answer
        sys.stderr.write(f"  one of: {', '.join(options)}\n")


def secret(question: str, *, flag: str) -> str:
    """Ask for a password without showing it."""
    _need_terminal(question, flag)
    return getpass.getpass(f"{question}: ")


def _need_terminal(question: str, flag: str) -> None:
    if not interactive():
        raise NotATerminalError(f"`{flag}` is needed, since nobody is here to answer: {question}")
