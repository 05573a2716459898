"""A mount namespace with the unified control groups (cgroup v2) that systemd and container runtimes ask for, whatever this
machine has mounted. What runs in it changes no mount of this machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREPARE = """
[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] || { umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup; }
echo ready
exec sleep infinity
"""


class OwnMounts:
    """`with OwnMounts() as inside: inside.run(["podman", …])`; it is held by a process that is ended at the end."""

    def __enter__(self) -> Self:
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation=private", "sh", "-ec", _PREPARE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()

    def words(self, words: Sequence[str | Path]) -> list[str | Path]:
        """Return the words that run a program in here."""
        return ["nsenter", f"--target={self._holder.pid}", "--mount", f"--wd={Path.cwd()}", "--", *words]

    def run(
        self,
        words: Sequence[str | Path],
        *,
        given: str = "",
        more: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in here. What it prints goes through a file, so that a child it leaves behind holds up nobody."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            environment = {**os.environ, **(more or {})}
            done = subprocess.run(
                self.words(words), input=given, stdout=out, stderr=err, text=True, env=environment, check=False
            )
            done.stdout, done.stderr = _all(out), _all(err)
        if check:
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done


def _all(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
