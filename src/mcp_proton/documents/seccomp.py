"""The system calls of a reader: work on memory and on what is open already. Anything else is answered with EPERM.

Linux only (seccomp(2), a classic BPF program over `struct seccomp_data`), for the processors whose numbers are known here.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_AT, _PROCESSOR_AT = 0, 4

# read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64 readv writev
# sched_yield mremap madvise nanosleep getpid exit uname gettid futex restart_syscall clock_gettime clock_nanosleep exit_group
# sysinfo set_robust_list getrandom rseq
_X86_64 = (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 24, 25, 28, 35, 39, 60, 63, 186, 202, 219, 228, 230, 231,
           99, 273, 318, 334)  # fmt: skip
_AARCH64 = (63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 67, 65, 66, 124, 216, 233, 101, 172, 93, 160, 178, 98,
            128, 113, 115, 94, 179, 99, 278, 293)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Processor:
    audit: int
    allowed: tuple[int, ...]


_PROCESSORS = {"x86_64": _Processor(0xC000003E, _X86_64), "aarch64": _Processor(0xC00000B7, _AARCH64)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def possible() -> bool:
    """Say whether this machine can be asked to refuse system calls."""
    return platform.system() == "Linux" and platform.machine() in _PROCESSORS and ctypes.sizeof(ctypes.c_void_p) == 8


def enforce() -> None:
    """Refuse all but the few calls from now on, for good. `OSError` where the kernel does not take it.

    The process must have given up new privileges before (PR_SET_NO_NEW_PRIVS).
    """
    code = _compiled(_PROCESSORS[platform.machine()])
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def _compiled(processor: _Processor) -> bytes:
    """Return the filter: the processor's own calls only (not those of another ABI), each number compared in turn."""
    refused = _ERRNO | errno.EPERM
    lines = [
        (_LOAD, 0, 0, _PROCESSOR_AT),
        (_EQUAL, 1, 0, processor.audit),
        (_RETURN, 0, 0, refused),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for left, number in zip(range(len(processor.allowed), 0, -1), processor.allowed, strict=True):
        lines.append((_EQUAL, left, 0, number))
    lines += [(_RETURN, 0, 0, refused), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
