"""What other processes say: each Python that a test starts copies its standard error into a file of ours (`child/`).

Most take the environment of the test; to those with one of their own it is given. One that is started by another program,
which chooses what its children get, is given it by whoever writes that program's configuration (`environment`).
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.canaries.hearing import listen

_LOADED = str(Path(__file__).with_name("child"))
FOLDER = "CANARIES_FOLDER"


def environment(given: dict[str, str]) -> dict[str, str]:
    """Return an environment in which a Python is listened to."""
    if FOLDER not in os.environ:
        return given
    path = [one for one in given.get("PYTHONPATH", "").split(os.pathsep) if one and one != _LOADED]
    return {**given, "PYTHONPATH": os.pathsep.join([_LOADED, *path]), FOLDER: os.environ[FOLDER]}


@dataclass
class _Copy:
    """How far a file was read: its size then, where the line begins that was not ended yet, how many lines are before that."""

    size: int = 0
    start: int = 0
    lines: int = 0


class Children:
    """The processes that are listened to, by the folder their copies lie in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies: defaultdict[str, _Copy] = defaultdict(_Copy)

    def listen(self) -> None:
        """Have what is started from now on copy what it says."""
        os.environ[FOLDER] = str(self._folder)
        os.environ.update(environment(dict(os.environ)))
        start = subprocess.Popen.__init__

        @functools.wraps(start)
        def started(own: subprocess.Popen[Any], args: Any, *more: Any, **how: Any) -> None:
            # What is given nothing at all is shut in on purpose.
            if how.get("env"):
                how["env"] = environment(dict(how["env"]))
            start(own, args, *more, **how)

        subprocess.Popen.__init__ = started  # type: ignore[assignment, method-assign]

    def hear(self) -> None:
        """Look at what was said since the last time."""
        for entry in os.scandir(self._folder):
            copy, size = self._copies[entry.name], entry.stat().st_size
            if size > copy.size:
                copy.size = size
                self._hear(Path(entry.path), copy)
            elif not _runs(int(entry.name.partition("-")[0])):
                Path(entry.path).unlink()  # else every test would look at all of them
                del self._copies[entry.name]

    def _hear(self, file: Path, copy: _Copy) -> None:
        with file.open("rb") as said:
            command = said.readline()  # which nobody said
            start = max(copy.start, len(command))
            said.seek(start)
            more = said.read(max(0, copy.size - start))
        place = f"what {command.decode(errors='replace').strip()} said"
        listen(more.decode(errors="replace"), place, copy.lines + 1)
        copy.start, copy.lines = start + more.rfind(b"\n") + 1, copy.lines + more.count(b"\n")


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True
