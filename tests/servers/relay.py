"""A relay between our IMAP client and a server that can do something at any step: before a command reaches the server, or
after the server did it and before the client hears of it.

A step is a command and the how-manieth of its kind since the relay was armed. Commands that a client sends in one packet
reach the server one by one, so that "after NOOP" is before the MOVE that came with it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

When = Literal["before", "after"]
_LITERAL = re.compile(rb"\{(\d+)(\+?)\}\r\n\Z")
_VERB = re.compile(rb"(\S+) ((?:UID )?[A-Za-z]+)")


class Over(Exception):
    """The connection ends here, without a word to the client."""


@dataclass(frozen=True)
class Step:
    """A command, and the how-manieth of its kind (from 0)."""

    verb: str
    n: int

    def __str__(self) -> str:
        return f"{self.verb} {self.n}"


@dataclass
class Trap:
    """What is to happen at a step, once. `act` gets the connection, and the server's answer where it has come."""

    step: Step
    when: When
    act: Callable[[Passage, bytes], Awaitable[bytes]]
    sprung: bool = False


class Relay:
    """Listens on `port`. `steps` are those passed since `arm`."""

    def __init__(self, host: str, port: int) -> None:
        self._server_at = host, port
        self._listener: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
        self.trap: Trap | None = None
        self.arm()

    def arm(self, trap: Trap | None = None) -> None:
        """Count steps anew from here, and spring the trap at its own."""
        self.steps: list[Step] = []
        self._seen: Counter[str] = Counter()
        self.trap = trap

    async def __aenter__(self) -> Relay:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._listener is not None
        self._listener.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            to_server = await asyncio.open_connection(*self._server_at, limit=1 << 20)
        except OSError:
            writer.close()
            self._open.discard(task)
            return
        try:
            await self.between((reader, writer), to_server).run()
        except (Over, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            for end in (writer, to_server[1]):
                end.close()
                with suppress(OSError, asyncio.CancelledError):
                    await end.wait_closed()

    def between(self, client: Ends, server: Ends) -> Passage:
        """What carries one connection."""
        return Passage(self, client, server)

    def passing(self, verb: str) -> Step:
        """Count a command in."""
        step = Step(verb, self._seen[verb])
        self._seen[verb] += 1
        self.steps.append(step)
        return step

    def due(self, step: Step, when: When) -> Trap | None:
        """The trap, if it is here."""
        trap = self.trap
        if trap is None or trap.sprung or (trap.step, trap.when) != (step, when):
            return None
        trap.sprung = True
        return trap


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Passage:
    """One connection: a command in, its answer out."""

    def __init__(self, relay: Relay, client: Ends, server: Ends) -> None:
        self._relay = relay
        self.client, self.client_writer = client
        self.server, self.server_writer = server
        self.tag = b""
        self.is_late = False
        """the client is gone, and what it sent last is still to reach the server"""

    async def run(self) -> None:
        """Until one of them ends it."""
        self.client_writer.write(await self.server.readuntil(b"\r\n"))  # the greeting
        while True:
            line = await self.client.readuntil(b"\r\n")
            match = _VERB.match(line)
            if match is None:
                raise Over
            self.tag = match[1]
            step = self._relay.passing(match[2].decode().upper())
            if (trap := self._relay.due(step, "before")) is not None:
                answer = await trap.act(self, b"")
                if answer:
                    self.client_writer.write(answer)
                    continue
            answer = await self._exchanged(line)
            if self.is_late:
                raise Over
            if (trap := self._relay.due(step, "after")) is not None:
                answer = await trap.act(self, answer)
            self.client_writer.write(answer)
            await self.client_writer.drain()

    async def _exchanged(self, line: bytes) -> bytes:
        """Send a command with its literals; return everything up to its tagged answer."""
        while True:
            self.server_writer.write(line)
            literal = _LITERAL.search(line)
            if literal is None:
                return await self._answered()
            if not literal[2]:
                self.client_writer.write(await self.server.readuntil(b"\r\n"))
            octets = await self.client.readexactly(int(literal[1]))
            self.server_writer.write(octets)
            line = await self.client.readuntil(b"\r\n")

    async def _answered(self) -> bytes:
        answer = b""
        while True:
            try:
                line = await self.server.readuntil(b"\r\n")
            except asyncio.IncompleteReadError:
                if not answer:
                    raise
                return answer  # the server's last words
            while (literal := _LITERAL.search(line)) is not None:
                line += await self.server.readexactly(int(literal[1]))
                line += await self.server.readuntil(b"\r\n")
            answer += line
            if line.startswith(self.tag + b" "):
                return answer

    def refused(self, answer: bytes) -> bytes:
        """NO in place of the tagged answer."""
        lines = answer.splitlines(keepends=True)
        told = b"".join(line for line in lines if not line.startswith(self.tag + b" "))
        return told + self.tag + b" NO simulated fault\r\n"

    def goodbye(self) -> bytes:
        """A server's last words."""
        return b"* BYE shutting down\r\n"

    def torn(self, answer: bytes) -> bytes:
        """The first half of an answer, or of a word that was never asked for."""
        return answer[: len(answer) // 2] or b"* OK [ALE"

    async def client_gone(self) -> None:
        """Wait until the client gave up. What it sent before counts as said."""
        while await self.client.read(65536):
            pass
