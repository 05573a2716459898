"""Asking the owner, at a terminal. Without one every question has a flag, and its absence is a clear refusal.

Questions go to standard error, so that standard output holds the answer alone.
"""

from __future__ import annotations

import getpass
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Check = Callable[[str], str]
    """Returns the answer as it shall be taken; raises ValueError with what is wrong with it."""

_TRIES = 20


class NobodyToAskError(Exception):
    """Questions came up and nobody is there to answer. Each names the flag that answers it."""

    def __init__(self, questions: Sequence[str], *, next: str | None = None) -> None:
        super().__init__("; ".join(questions))
        self.questions = questions
        self.next = next


class NobodyAnsweredError(Exception):
    """The terminal was closed, or the same question was answered wrongly again and again."""


class SaidNoError(Exception):
    """The owner does not want it after all."""


def interactive() -> bool:
    """Whether a person sits at the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(*lines: str) -> None:
    """Tell the owner something beside a question. Lines are broken between words where the terminal ends."""
    width = max(40, min(100, shutil.get_terminal_size().columns - 1))
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        broken = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        sys.stderr.write("\n".join(broken) + "\n")
    sys.stderr.flush()


def ask(question: str, *, flag: str, default: str | None = None, check: Check | None = None) -> str:
    """Ask for a line of text, again while `check` finds something wrong with it."""
    need_terminal(question, flag)
    hint = f" [{default}]" if default else ""
    for _ in range(_TRIES):
        sys.stderr.write(f"{question}{hint}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            break
        answer = line.strip() or default or ""
        try:
            return check(answer) if check else answer
        except ValueError as error:
            say(f"  {error}")
    raise NobodyAnsweredError


def confirm(question: str, *, flag: str) -> bool:
    """Ask for a yes; anything else is a no."""
    return ask(f"{question} (yes/no)", flag=flag).lower() in ("y", "yes")


def choose(question: str, options: Mapping[str, str], *, flag: str, default: str | None = None) -> str:
    """Ask for one of several words, each with what it means."""
    need_terminal(question, flag)
    width = max(map(len, options))

    def known(answer: str) -> str:
        if answer.lower() not in options:
            raise ValueError(f"one of: {', '.join(options)}")
        return answer.lower()

    say(*(f"  {word:<{width}}  {meaning}" for word, meaning in options.items()))
    return ask(question, flag=flag, default=default, check=known)


def secret(question: str, *, flag: str) -> str:
    """Ask for a password without showing it."""
    need_terminal(question, flag)
    try:
        return getpass.getpass(f"{question} (not shown): ")
    except EOFError:
        raise NobodyAnsweredError from None


def need_terminal(question: str, flag: str) -> None:
    """Raise `NobodyToAskError` unless somebody is there to answer."""
    if not interactive():
        raise NobodyToAskError([f"`{flag}` is needed, since nobody is here to answer: {question}"])
