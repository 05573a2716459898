"""A program at a terminal of its own: what shows on the screen, and what a person types when it does."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from tests.surfaces.cli.lab import Owner

SECONDS = 240


class Terminal:
    """`with Terminal(words, environment) as terminal`: the program runs until it ends or the block does."""

    def __init__(self, words: Sequence[str | Path], environment: Mapping[str, str], folder: Path | None = None) -> None:
        self._words = [str(word) for word in words]
        self._environment = dict(environment)
        self._folder = folder
        self._seen = 0
        self._code: int | None = None
        self.screen = ""

    def __enter__(self) -> Self:
        self._child, self._terminal = pty.fork()
        if self._child == 0:
            os.chdir(self._folder or ".")
            os.execve(self._words[0], self._words, self._environment)
        return self

    def __exit__(self, *_: object) -> None:
        if self._code is None:
            os.kill(self._child, signal.SIGKILL)
            self._reap()

    def shows(self, pattern: str) -> re.Match[str] | None:
        """Wait for something new on the screen; None where the program ends without it."""
        end = time.monotonic() + SECONDS
        while not (found := re.compile(pattern, re.DOTALL).search(self.screen, self._seen)):
            assert time.monotonic() < end, f"{pattern} does not show\n{self.screen}"
            if not self._read():
                return None
        self._seen = found.end()
        return found

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{line}\n".encode())

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        end = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < end, f"it does not end\n{self.screen}"
        return self._reap()

    def _read(self) -> bool:
        """Take what comes within a moment; False once nothing will come any more."""
        if not select.select([self._terminal], [], [], 0.2)[0]:
            return True
        try:
            chunk = os.read(self._terminal, 4096)
        except OSError:  # the other end is closed
            return False
        self.screen += chunk.decode("utf-8", "replace")
        return bool(chunk)

    def _reap(self) -> int:
        os.close(self._terminal)
        self._code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        return self._code


def of_owner(owner: Owner, *words: str) -> Terminal:
    """Type a command of ours."""
    return Terminal([sys.executable, "-m", "mcp_proton", *words], owner.environment)


def talk(owner: Owner, words: Sequence[str], answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run one of our commands and type each answer when its question shows; return exit code and screen."""
    with of_owner(owner, *words) as terminal:
        for question, answer in answers:
            assert terminal.shows(re.escape(question)), f"never asked: {question}\n{terminal.screen}"
            terminal.type(answer)
        return terminal.ended(), terminal.screen
