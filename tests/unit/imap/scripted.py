"""A mail server that says what a test tells it to say, on loopback, in the test's own event loop."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.imap.limits import Limits, Timing
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol.backoff import Patience
from mcp_proton.imap.protocol.opening import open_session
from mcp_proton.imap.protocol.pool import Habits, Pool

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.imap.protocol.session import Session

OK = b"@TAG@ OK done\r\n"
CAPABILITIES = b"IMAP4rev1 IDLE UIDPLUS MOVE ID UNSELECT"
BRIDGE = b"AUTH=PLAIN ID IDLE IMAP4rev1 MOVE STARTTLS UIDPLUS UNSELECT"
IDENTITY = {"name": "mcp-proton", "version": "test"}
_LITERAL = re.compile(rb"\{(\d+)(\+?)\}\r\n\Z")

Reply = bytes | Callable[["Talk", bytes, bytes], Awaitable[None]]


def mailbox(exists: int = 1, uidvalidity: int = 1, uidnext: int = 2) -> bytes:
    return (
        b"* FLAGS (\\Seen \\Flagged)\r\n* %d EXISTS\r\n* 0 RECENT\r\n* OK [PERMANENTFLAGS (\\Seen \\Flagged)]\r\n"
        b"* OK [UIDNEXT %d]\r\n* OK [UIDVALIDITY %d]\r\n@TAG@ OK [READ-ONLY] EXAMINE\r\n"
    ) % (exists, uidnext, uidvalidity)


class Talk:
    """One connection as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader, self.writer, self.number = reader, writer, number

    async def say(self, data: bytes, tag: bytes = b"") -> None:
        self.writer.write(data.replace(b"@TAG@", tag))
        await self.writer.drain()

    async def hang_up(self) -> None:
        self.writer.close()

    async def command(self) -> bytes:
        """The next command with its literals, without the last line end; empty at the end."""
        whole = b""
        while True:
            line = await self.reader.readline()
            whole += line
            literal = _LITERAL.search(line)
            if literal is None:
                return whole.removesuffix(b"\r\n")
            if not literal[2]:
                await self.say(b"+ go on\r\n")
            whole += await self.reader.readexactly(int(literal[1]))


class ScriptedServer:
    """`replies` maps the beginning of a command (upper case, the longest one wins) to bytes, in which @TAG@ stands for
    the tag, or to a coroutine function (talk, tag, command). What it doesn't name is answered politely."""

    def __init__(self, replies: dict[bytes, Reply] | None = None, *, capabilities: bytes = CAPABILITIES) -> None:
        self.greeting = b"* OK [CAPABILITY " + capabilities + b"] hi\r\n"
        self.replies: dict[bytes, Reply] = {
            b"CAPABILITY": b"* CAPABILITY " + capabilities + b"\r\n" + OK,
            b"LOGIN": b"@TAG@ OK [CAPABILITY " + capabilities + b"] in\r\n",
            b"ID": b'* ID ("name" "scripted" "version" "1")\r\n' + OK,
            b"EXAMINE": mailbox(),
            b"SELECT": mailbox(),
            b"LOGOUT": b"* BYE\r\n" + OK,
            **(replies or {}),
        }
        self.received: list[bytes] = []
        """every command without its tag, of all connections"""
        self.talks: list[Talk] = []
        self.tls: ssl.SSLContext | None = None
        self.implicit_tls = False
        self.port = 0
        self._server: asyncio.Server | None = None

    def commands(self, beginning: bytes) -> list[bytes]:
        return [command for command in self.received if command.upper().startswith(beginning)]

    async def start(self, port: int = 0) -> None:
        context = self.tls if self.implicit_tls else None
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, ssl=context, limit=1 << 24)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for talk in self.talks:
                talk.writer.close()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = Talk(reader, writer, len(self.talks))
        self.talks.append(talk)
        try:
            await talk.say(self.greeting)
            while command := await talk.command():
                tag, _, rest = command.partition(b" ")
                self.received.append(rest)
                await self._answer(talk, tag, rest)
        except (OSError, EOFError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _answer(self, talk: Talk, tag: bytes, command: bytes) -> None:
        fitting = [beginning for beginning in self.replies if command.upper().startswith(beginning)]
        reply = self.replies[max(fitting, key=len)] if fitting else OK
        if isinstance(reply, bytes):
            await talk.say(reply, tag)
        else:
            await reply(talk, tag, command)

    def endpoint(self, tls: TlsMode = TlsMode.PLAIN, pin: Pin | None = None) -> Endpoint:
        return Endpoint("127.0.0.1", self.port, tls, pin, plain_to_this_machine=tls is TlsMode.PLAIN)


async def secret() -> str:
    return "pass-word"


CREDENTIALS = Credentials("me@example.org", secret)
QUICK = Timing(silence=2.0, settle=0.5, goodbye=0.2, connect=2.0, greeting=2.0)


@asynccontextmanager
async def serving(
    replies: dict[bytes, Reply] | None = None, *, capabilities: bytes = CAPABILITIES
) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(replies, capabilities=capabilities)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def session_with(
    replies: dict[bytes, Reply] | None = None,
    *,
    capabilities: bytes = CAPABILITIES,
    limits: Limits | None = None,
    timing: Timing = QUICK,
) -> AsyncIterator[tuple[Session, ScriptedServer]]:
    """A logged-in session to a scripted server."""
    async with serving(replies, capabilities=capabilities) as server:
        session = await open_session(server.endpoint(), CREDENTIALS, identity=IDENTITY, limits=limits, timing=timing)
        try:
            yield session, server
        finally:
            session.close()
            await asyncio.sleep(0)


def pool_for(
    server: ScriptedServer,
    *,
    habits: Habits | None = None,
    limits: Limits | None = None,
    timing: Timing = QUICK,
    patience: Patience | None = None,
) -> Pool:
    return Pool(
        server.endpoint(),
        CREDENTIALS,
        identity=IDENTITY,
        habits=habits,
        limits=limits,
        timing=timing,
        patience=patience or Patience(first=0.02, caller=0.5, refused=0.2),
    )


def server_context(chain: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context
