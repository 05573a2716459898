"""Telling systemd that the service is ready (sd_notify(3)), so that `systemctl start` ends when clients are answered.

Says nothing where nobody asked for it, and a listener that is gone is no fault of the service.
"""

from __future__ import annotations

import contextlib
import os
import socket

_VARIABLE = "NOTIFY_SOCKET"


def ready() -> None:
    """Say it once, to whom the environment names; children of ours are not told whom."""
    where = os.environ.pop(_VARIABLE, "")
    if not where.startswith(("/", "@")):
        return
    address = f"\0{where[1:]}" if where.startswith("@") else where
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.sendto(b"READY=1", address)
