"""Another user of this machine: `python intruder.py UID GROUPS < targets.json` tries, and prints what it could do.

Everything is loaded before the rights are given up, so that the interpreter itself need not be readable to that user.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from collections.abc import Callable


def attempt(act: Callable[[], object]) -> str:
    """Return `done`, or the name of the error that kept it from being done."""
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"


def read(path: str) -> None:
    """Read a file's first octet, a folder's names, or a symbolic link."""
    if stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116
        os.listdir(path)  # noqa: PTH208
    else:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def write(path: str) -> None:
    """Open a file for writing, or make one in a folder."""
    if os.path.isdir(path):  # noqa: PTH112
        path = f"{path}/left-by-another"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def connect(path: str) -> None:
    """Connect to a Unix socket and say hello."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.settimeout(50)
        one.connect(path)
        one.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        answered = one.recv(64)
        if not answered.startswith(b"HTTP/1.1 401"):
            raise OSError(answered)


def main() -> None:
    """Give up all rights, try everything, and tell."""
    user, groups = int(sys.argv[1]), [int(one) for one in sys.argv[2].split(",") if one]
    targets = json.load(sys.stdin)
    os.setgroups(groups)
    os.setgid(user)
    os.setuid(user)
    told = {
        name: {path: attempt(lambda act=act, path=path: act(path)) for path in targets.get(name, [])}  # type: ignore[misc]
        for name, act in (("read", read), ("write", write), ("connect", connect))
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
