"""A relay that lets whole messages pass as fast as a real Bridge was seen to serve them: 1,000 in 0.40 s, whoever reads.

Dovecot and the engine beside us answer from memory, twenty times faster than Bridge decrypts; against them one measures how
fast octets can be copied. A process of its own, so that it takes nothing from what is measured.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode

from .places import Place
from .raw import RawClient

EACH = 0.0004
"""Seconds a message: what Bridge 3.21.1 took for small ones out of 20,000, its fake API next door."""
_BODY = b"BODY[] {"


@contextmanager
def paced(place: Place) -> Iterator[Place]:
    """Yield the same mailbox, seen through the relay."""
    command = [sys.executable, "-m", "bench.pacing", place.host, str(place.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())

            async def password() -> str:
                return place.password

            endpoint = Endpoint("127.0.0.1", port, TlsMode.PLAIN, plain_to_this_machine=True)
            yield replace(
                place,
                name=f"{place.name} at the pace of Bridge",
                raw=lambda: RawClient("127.0.0.1", port, place.username, place.password, starttls=False),
                backend=lambda: ImapBackend("bench", endpoint, Credentials(place.username, password)),
                port=port,
            )
        finally:
            process.terminate()


async def _relay(host: str, port: int) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, to_server = await asyncio.open_connection(host, port)
        await asyncio.gather(_passed(reader, to_server), _slowly(theirs, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(1 << 16):
        writer.write(chunk)
        await writer.drain()
    writer.close()


async def _slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    now = asyncio.get_running_loop().time
    due, tail = now(), b""
    while chunk := await reader.read(1 << 16):
        due = max(due, now()) + EACH * (tail + chunk).count(_BODY)
        tail = chunk[1 - len(_BODY) :]
        await asyncio.sleep(due - now())
        writer.write(chunk)
        await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(_relay(sys.argv[1], int(sys.argv[2])))
