"""One server program for the length of a test run: its folder, its ports, its start and its end.

Mail servers refuse to run as root, so a run by root starts them as `nobody`. A server dies with the process
that started it, even when that one is killed outright.
"""

from __future__ import annotations

import grp
import os
import pwd
import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOOPBACK = "127.0.0.1"
_BELOW_EPHEMERAL = range(20_000, 32_000)
_START_SECONDS = 30.0
# Nothing a server would still write is wanted: its folder goes with it.
_STOP_SECONDS = 1.0


class ServerFailedError(RuntimeError):
    """A server did not come up; the message holds what it printed."""


def account() -> pwd.struct_passwd:
    """The user that servers run as: `nobody` when we are root, else ourselves."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def group_name() -> str:
    """The group of that user."""
    return grp.getgrgid(account().pw_gid).gr_name


def make_folder() -> Path:
    """A new folder with a short path (socket names end at 107 bytes) that belongs to the servers' user."""
    folder = Path(tempfile.mkdtemp(prefix="mail-"))
    hand_over(folder)
    return folder


def hand_over(*paths: Path) -> None:
    """Give files and whole folders to the servers' user."""
    if os.geteuid() != 0:
        return
    owner = account()
    for top in paths:
        for path in (top, *top.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, below the range from which the kernel takes ports for outgoing connections."""
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            candidate = socket.socket()
            try:
                candidate.bind((LOOPBACK, random.choice(_BELOW_EPHEMERAL)))
            except OSError:
                candidate.close()
            else:
                held.append(candidate)
        return [candidate.getsockname()[1] for candidate in held]
    finally:
        for candidate in held:
            candidate.close()


def unprivileged(command: Sequence[str | Path], *, bound_to_us: bool = False, as_root: bool = False) -> list[str]:
    """`command` as the servers' user (or as root, for what drops it by itself); `bound_to_us` ends it with us."""
    words = ["setpriv"]
    if bound_to_us:
        words += ["--pdeathsig", "TERM"]
    if os.geteuid() == 0 and not as_root:
        owner = account()
        words += ["--reuid", str(owner.pw_uid), "--regid", str(owner.pw_gid), "--clear-groups"]
    return [*words, "--", *map(str, command)]


class ServerProcess:
    """A server in the foreground, in a session of its own, started and waited for until its ports answer."""

    def __init__(
        self,
        command: Sequence[str | Path],
        folder: Path,
        ports: Sequence[int],
        environment: Mapping[str, str],
        *,
        as_root: bool = False,
    ) -> None:
        self._folder = folder
        self._printed = folder / "printed.log"
        with self._printed.open("wb") as printed:
            self._process = subprocess.Popen(
                unprivileged(command, bound_to_us=True, as_root=as_root),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
                start_new_session=True,
            )
        try:
            self._wait_for(ports)
        except BaseException:
            self.stop()
            raise

    def _wait_for(self, ports: Sequence[int]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        for port in ports:
            while not _answers(port):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise ServerFailedError(self._story())
                time.sleep(0.02)

    def _story(self) -> str:
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(["the server did not start:", *(log.read_text(errors="replace")[-2000:] for log in logs)])

    def stop(self) -> None:
        """End the server and all it started."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _end_session(self._process.pid)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False


def _end_session(leader: int) -> None:
    # Children that outlive their master are still in the session we made for it, whatever their parent is now.
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            session = int(entry.read_text().rpartition(")")[2].split()[3])
            if session == leader:
                os.kill(int(entry.parent.name), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            continue
