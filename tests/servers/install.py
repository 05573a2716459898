"""Bring the mail servers that the tests talk to onto a Debian or Ubuntu machine (as root, by apt-get).

Dovecot and Postfix are installed; Cyrus, which Debian refuses beside them, is downloaded into `.cache/` and unpacked
by the tests. Run as a program it prints what it did; with everything in place it asks nothing of the network. Standard library
only, so any Python can run it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CACHE = Path(__file__).parents[2] / ".cache" / "servers" / "cyrus"
_CYRUS = ("cyrus-common", "cyrus-imapd", "cyrus-caldav")
_INSTALLED = {
    Path("/usr/sbin/dovecot"): "dovecot-core",
    Path("/usr/lib/dovecot/imap"): "dovecot-imapd",
    Path("/usr/lib/dovecot/lmtp"): "dovecot-lmtpd",
    Path("/usr/sbin/saslpasswd2"): "sasl2-bin",
    Path("/usr/sbin/postfix"): "postfix",
}
_NOT_STARTED = Path("/usr/sbin/policy-rc.d")


def missing() -> list[str]:
    """What the tests need and this machine lacks."""
    lacks = [package for program, package in _INSTALLED.items() if not program.exists()]
    return lacks + [name for name in _CYRUS if not any(_CACHE.glob(f"{name}_*.deb"))]


def install() -> None:
    """Make `missing()` empty, or raise CalledProcessError with apt-get's own words on the terminal."""
    apt("update", "-qq")
    with services_left_stopped():
        apt("install", "-y", "-qq", "--no-install-recommends", *_INSTALLED.values(), "libsasl2-modules")
        _fetch_cyrus()


def _fetch_cyrus() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # World-writable, because apt-get downloads as a user of its own.
        Path(folder).chmod(0o777)
        subprocess.run(["apt-get", "download", "-qq", *_CYRUS], cwd=folder, check=True)
        packages = sorted(Path(folder).glob("*.deb"))
        apt("satisfy", "-y", "-qq", "--no-install-recommends", ", ".join(_libraries(packages)))
        shutil.rmtree(_CACHE, ignore_errors=True)
        _CACHE.mkdir(parents=True)
        for package in packages:
            shutil.copy(package, _CACHE)


def _libraries(packages: list[Path]) -> list[str]:
    """The shared libraries the packages need; the rest of what they name is for an installed mail system."""
    needs: set[str] = set()
    for package in packages:
        field = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True)
        needs.update(need.strip() for need in field.stdout.split(","))
    return sorted(need for need in needs if need.startswith("lib"))


def apt(*words: str) -> None:
    """Run apt-get as nobody is there to be asked. Raises CalledProcessError, its words on the terminal."""
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *words]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        done.check_returncode()


@contextlib.contextmanager
def services_left_stopped() -> Iterator[None]:
    """Debian starts a server that it installs; here it must not (invoke-rc.d asks this file)."""
    if _NOT_STARTED.exists():
        yield
        return
    _NOT_STARTED.write_text("#!/bin/sh\nexit 101\n")
    _NOT_STARTED.chmod(0o755)
    try:
        yield
    finally:
        _NOT_STARTED.unlink()


def main() -> int:
    lacks = missing()
    if not lacks:
        print("Dovecot, Postfix and Cyrus are ready.")
        return 0
    print("Not on this machine yet:", ", ".join(lacks))
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print("They are Debian packages: run `make servers` as root on Debian or Ubuntu.", file=sys.stderr)
        return 1
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(f"apt-get could not bring them (exit {error.returncode}).", file=sys.stderr)
        return 1
    print("Dovecot, Postfix and Cyrus are ready.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
