"""What a reader of strangers' files may use, taken away from its own process in two steps, for good.

`bound` limits memory, processor time and files written; `seal` forbids to open anything, files and sockets alike: no
descriptor can be had any more (RLIMIT_NOFILE), and where the kernel can, no system call but work on memory (seccomp).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_proton.documents import seccomp

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NICER = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """Octets of memory (address space), seconds of processor time, seconds in all, octets of output."""

    memory: int = 640 << 20
    processor: int = 20
    seconds: float = 40.0
    output: int = 1 << 20


def bound(limits: Limits, parent: int) -> None:
    """Limit this process, and let it end with the one that started it."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        with suppress(OSError):  # where memory is short, the kernel ends this process and not the service
            Path("/proc/self/oom_score_adj").write_text("1000")
    os.nice(_NICER)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CPU, limits.processor, limits.processor + 1)  # SIGXCPU first: what else kills is told apart
    _limit(resource.RLIMIT_AS, limits.memory)


def seal() -> None:
    """Forbid to open anything from now on: files, sockets, processes."""
    _limit(resource.RLIMIT_NOFILE, 0)
    if hasattr(resource, "RLIMIT_NPROC"):
        _limit(resource.RLIMIT_NPROC, 0)
    if seccomp.possible():
        seccomp.enforce()


def _limit(kind: int, most: int, end: int | None = None) -> None:
    """Lower a limit to `most`, for good to `end`; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    end = most if end is None else end
    lower = end if hard == resource.RLIM_INFINITY else min(end, hard)
    try:
        resource.setrlimit(kind, (min(most, lower), lower))
    except (OSError, ValueError):
        if sys.platform == "linux":  # elsewhere a kernel may not know every limit
            raise
