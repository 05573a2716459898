"""A relay before an IMAP server, in the clear, that strikes at named steps: `before UID MOVE`, `after UID COPY`.

What a step can do is what the simulator's fault script can (`drop`, `delay`, `refuse`, `cut`, `bye`, `rebuild`), so that a test
asks for the same fault whichever of the two stands behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.simulator.faults import FaultScript
from tests.servers.process import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_proton.simulator.faults import StepFault

_COMMAND = re.compile(rb"(\S+) ((?:UID )?[A-Z]+)", re.IGNORECASE)
_LITERAL = re.compile(rb"\{(\d+)\+?\}\r\n\Z")
_LONGEST_LINE = 2**24


class _Struck(Exception):
    """The connection ends here."""


class Relay:
    """Passes on what client and server say. `rebuild` gives every mailbox of the server a new UIDVALIDITY."""

    def __init__(self, server_port: int, rebuild: Callable[[], None]) -> None:
        self.faults = FaultScript()
        self.port = 0
        self._server_port = server_port
        self._rebuild = rebuild
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect one client with the server until one of them ends, or a step does."""
        try:
            inward, outward = await asyncio.open_connection(LOOPBACK, self._server_port, limit=_LONGEST_LINE)
        except OSError:
            writer.close()
            return
        both = {writer, outward}
        self._open |= both
        verbs: dict[bytes, str] = {}
        ways = [
            asyncio.ensure_future(self._ask(reader, outward, writer, verbs)),
            asyncio.ensure_future(self._answer(inward, writer, verbs)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.close(both)

    async def _ask(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, client: asyncio.StreamWriter,
        verbs: dict[bytes, str],
    ) -> None:  # fmt: skip
        while line := await reader.readline():
            if command := _COMMAND.match(line):
                tag, verb = command[1], command[2].decode().upper()
                verbs[tag] = verb
                fault = self.faults.due(f"before {verb}")
                if fault is not None and fault.action == "refuse":
                    client.write(b"%b NO %b\r\n" % (tag, fault.text.encode()))
                    continue
                await self._strike(fault, client)
            server.write(line)
            while literal := _LITERAL.search(line):
                server.write(await reader.readexactly(int(literal[1])))
                line = await reader.readline()
                server.write(line)

    async def _answer(
        self, server: asyncio.StreamReader, client: asyncio.StreamWriter, verbs: dict[bytes, str]
    ) -> None:
        while line := await server.readline():
            if verb := verbs.pop(line.partition(b" ")[0], ""):
                await self._strike(self.faults.due(f"after {verb}"), client)
            client.write(line)

    async def _strike(self, fault: StepFault | None, client: asyncio.StreamWriter) -> None:
        if fault is None:
            return
        if fault.action == "delay":
            await asyncio.sleep(fault.seconds)
        elif fault.action == "rebuild":
            self._rebuild()
        else:
            farewell = {"bye": b"* BYE %b\r\n" % fault.text.encode(), "cut": b"* OK [ALE"}
            client.write(farewell.get(fault.action, b""))
            with contextlib.suppress(ConnectionError):
                await client.drain()
            raise _Struck

    def close(self, some: set[asyncio.StreamWriter] | None = None) -> None:
        """End connections: all of them, or these."""
        for writer in list(self._open if some is None else some):
            self._open.discard(writer)
            writer.close()


@asynccontextmanager
async def relay(server_port: int, rebuild: Callable[[], None]) -> AsyncIterator[Relay]:
    """A relay before the server on this port of this machine, on a port of its own."""
    made = Relay(server_port, rebuild)
    listening = await asyncio.start_server(made.serve, LOOPBACK, 0, limit=_LONGEST_LINE)
    made.port = listening.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listening.close()
        made.close()
        await asyncio.sleep(0)
