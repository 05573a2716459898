"""The two that are compared: Proton's engine and the simulator, each with an account of its own and two clients."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast, get_args

from mcp_proton.simulator import Simulator
from mcp_proton.simulator.proton.account import NoSuchLabelError
from mcp_proton.simulator.replaying.matching import CLOSED, responses
from tests.differential.script import ADDRESS, Session, mail
from tests.servers.bridges import ElsewhereVerb, EngineBridge, NotThereError, SimulatedBridge
from tests.servers.gluon_server import OrderRefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_proton.simulator.certificate import Certificate
    from tests.servers.gluon_server import GluonServer

_PATIENCE = 20.0


class Account:
    """What another device does, the events, and the truth."""

    def __init__(self, bridge: SimulatedBridge | EngineBridge, events: Callable[[], None]) -> None:
        self._bridge = bridge
        self.events = events
        """fetch and apply all events"""

    def elsewhere(self, words: list[str]) -> str:
        """Do it; what is missing is the answer."""
        try:
            self._do(*words)
        except (NotThereError, OrderRefusedError, NoSuchLabelError):
            return "not there"
        return "done"

    def _do(self, what: str, name: str, to: str = "") -> None:
        if what == "deliver":
            self._bridge.deliver(mail(name), key=name, places=(to,))
        else:
            assert what in get_args(ElsewhereVerb), what
            self._bridge.elsewhere(cast("ElsewhereVerb", what), name, to)

    def state(self) -> dict[str, dict[str, Any]]:
        """The account's truth."""
        return self._bridge.state()


class Client:
    """One connection, logged in; a new one takes its place after it was closed."""

    def __init__(self, letter: str, port: int, password: str) -> None:
        self._letter = letter
        self._port = port
        self._password = password
        self._count = 0
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader

    async def say(self, text: str) -> list[str]:
        """The answer to a command, without its tag; a mail in braces at its end is sent as a literal."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            await self._reader.readline()
            await self._exchange(f"LOGIN {ADDRESS} {self._password}")
        return await self._exchange(text)

    async def _exchange(self, text: str) -> list[str]:
        assert self._writer is not None
        self._count += 1
        tag = f"{self._letter}{self._count}"
        literal = b""
        if text.endswith("}"):
            text, _, key = text[:-1].rpartition("{")
            literal = mail(key).replace(b"\n", b"\r\n")
            text += f"{{{len(literal)}}}"
        self._writer.write(f"{tag} {text}\r\n".encode())
        heard = b""
        while True:
            line = await asyncio.wait_for(self._reader.readline(), _PATIENCE)
            heard += line
            if line.startswith(b"+ ") and literal:
                self._writer.write(literal + b"\r\n")
            elif line.startswith(tag.encode() + b" "):
                return [one.removeprefix(f"{tag} ") for one in responses(heard)]
            elif not line:
                await self.close()
                return [*responses(heard), CLOSED]

    async def close(self) -> None:
        """End the connection."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class Side:
    """An account, and the clients by their letters; `c` looks at everything in the end."""

    def __init__(self, account: Account, port: int, password: str) -> None:
        self.account = account
        self.clients = {letter: Client(letter, port, password) for letter in "abc"}

    async def close(self) -> None:
        """End all connections."""
        for client in self.clients.values():
            await client.close()


@asynccontextmanager
async def opened(session: Session, server: GluonServer, certificate: Certificate) -> AsyncIterator[tuple[Side, Side]]:
    """The engine's side and the simulator's, both with what the session begins with."""
    with server.bridge([session.user()], model=session.model) as gluon:
        engine = Side(Account(EngineBridge(gluon, session.model, None), gluon.events), gluon.imap_port, gluon.password)
        async with simulated(session, certificate) as simulator:
            try:
                yield engine, simulator
            finally:
                await engine.close()


@asynccontextmanager
async def simulated(session: Session, certificate: Certificate) -> AsyncIterator[Side]:
    """The simulator's side alone."""
    async with Simulator(users=[session.user()], model=session.model, certificate=certificate) as simulator:
        account = Account(SimulatedBridge(simulator), simulator.release_events)
        side = Side(account, simulator.imap_port, simulator.password)
        try:
            yield side
        finally:
            await side.close()
