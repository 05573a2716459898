"""Serving one client over standard input and output. Nothing but protocol is written to standard output.

End of input, SIGTERM, SIGINT and SIGHUP all end it the same way: running calls are cancelled, everything is closed in
order, and the call returns. (Left alone, the transport would die of SIGTERM half-way and not hear SIGINT at all.)
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcp_proton.mcp.logs import to_stderr

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastmcp.server.server import FastMCP

_CHUNK = 64 * 1024
_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def serve_stdio(server: FastMCP[Any]) -> None:
    """Serve until the client closes its end or a signal comes."""
    to_stderr()
    loop = asyncio.get_running_loop()
    end_of_input = _owned_stdin()
    for ending in _ENDINGS:
        loop.add_signal_handler(ending, end_of_input)
    try:
        await server.run_stdio_async(show_banner=False)
    finally:
        for ending in _ENDINGS:
            loop.remove_signal_handler(ending)


def _owned_stdin() -> Callable[[], None]:
    """Put a pipe of ours in the place of standard input, and return what ends it: the server then sees its end."""
    real = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def end() -> None:
        # Not `close`: the number could be given to another file while the pump is about to write to it.
        os.dup2(nowhere, writing, inheritable=False)

    def pump() -> None:
        with suppress(OSError):
            while chunk := os.read(real, _CHUNK):
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(writing, rest) :]
        end()

    threading.Thread(target=pump, name="stdin", daemon=True).start()
    return end
