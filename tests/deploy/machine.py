"""A small Debian with a systemd of its own as process 1, in namespaces of this machine. It shares the network, so that a
simulated Bridge on the loopback address is reached; whatever it writes is gone at the end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import Self

from .debian import tree
from .mounts import OwnMounts

ROOT = Path(__file__).parents[2]
CHECKOUT = "/src"
_PACKAGES = ("ca-certificates", "dbus", "libpam-systemd", "python3", "python3-venv", "systemd", "systemd-sysv")
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_PATIENCE = 120


class Machine(OwnMounts):
    """`with Machine() as machine: machine.root("systemctl", "status")`."""

    def __enter__(self) -> Self:
        root = tree("machine", _PACKAGES)
        super().__enter__()
        # Its journal goes to its console, and that to nobody.
        self._booted = subprocess.Popen(
            self.words(
                [
                    "systemd-nspawn", "--boot", f"--directory={root}", "--volatile=overlay", "--console=pipe",
                    "--register=no", "--keep-unit", "--hostname=machine", "--resolv-conf=copy-host",
                    f"--bind-ro={ROOT}:{CHECKOUT}", "systemd.unit=multi-user.target",
                ]
            ),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._booted.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._booted.wait(_PATIENCE)
        self._booted.kill()
        self._booted.wait()
        super().__exit__()

    def root(
        self, *words: str | Path, given: str = "", check: bool = True, user: str = "root", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in it, as root or another user of it."""
        environment = [f"{name}={value}" for name, value in (_ENVIRONMENT | more).items()]
        as_user = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        inside = ["nsenter", f"--target={self.first}", "--all", "--", "env", "-i", *environment, *as_user]
        return subprocess.run([*inside, *words], input=given, capture_output=True, text=True, check=check)

    def show(self, unit: str, *names: str) -> dict[str, str]:
        """Return properties of a unit."""
        told = self.root("systemctl", "show", unit, *(f"--property={name}" for name in names)).stdout
        return dict(line.split("=", 1) for line in told.splitlines())

    @property
    def first(self) -> int:
        """Return its process 1, by the number it has here."""
        children = Path(f"/proc/{self._booted.pid}/task/{self._booted.pid}/children").read_text().split()
        return int(children[0]) if children else 0

    def _wait(self) -> None:
        for _ in range(_PATIENCE):
            assert self._booted.poll() is None, "it did not boot"
            if self.first and self._is_running():
                return
            time.sleep(1)
        raise TimeoutError("systemd did not come up")

    def _is_running(self) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            return self.root("systemctl", "is-system-running").stdout.strip() == "running"
        return False
