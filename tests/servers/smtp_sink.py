"""A submission server that does what it is told: takes mail, or goes wrong at a named step.

What was stored is in `stored`, as the sender meant it (dots undone). By the local part of a recipient: `reject` 550 and
`later` 451 at RCPT, `hangup` closes at RCPT, `full` 554 after the text, `lost` stores the mail and closes before the answer,
`silent` stores it and says nothing, `early` refuses in the middle of the text and stops reading, `chatty` says two replies
at once, `babble` answers with what is no reply, `endless` with a reply that does not end.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from mcp_proton.simulator import Certificate

EXTENSIONS = ("PIPELINING", "SIZE 40000000", "8BITMIME", "SMTPUTF8", "AUTH PLAIN LOGIN")


@dataclass
class Stored:
    """A mail as it was handed over."""

    sender: str
    recipients: list[str]
    text: bytes
    parameters: str


@dataclass
class SmtpSink:
    """`async with SmtpSink(certificate)`: on 127.0.0.1 at `port`, TLS by STARTTLS. `said` is every command that came."""

    certificate: Certificate
    extensions: tuple[str, ...] = EXTENSIONS
    username: str = "alice"
    password: str = "secret"
    login_refusal: str = "535 5.7.8 no"
    after_starttls: bytes = b""
    """said in plain text together with the go-ahead for TLS, as an attacker might"""
    offers_tls: bool = True
    greeting: bytes = b"220 sink ESMTP\r\n"
    stored: list[Stored] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    async def __aenter__(self) -> Self:
        self._context = self.certificate.server_context()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        self._open: set[asyncio.StreamWriter] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            await _Session(self, reader, writer).run()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    @property
    def context(self) -> ssl.SSLContext:
        return self._context


class _Session:
    def __init__(self, sink: SmtpSink, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sink, self.reader, self.writer = sink, reader, writer
        self.tls = False
        self.reset()

    def reset(self) -> None:
        self.sender, self.parameters = "", ""
        self.recipients: list[str] = []

    def say(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())

    async def run(self) -> None:
        self.writer.write(self.sink.greeting)
        while line := (await self.reader.readline()).decode().rstrip("\r\n"):
            self.sink.said.append(line)
            if not await self.answer(line):
                return

    async def shake_hands(self) -> None:
        before = self.writer.transport
        try:
            await self.writer.start_tls(self.sink.context)
        except AttributeError:  # the client left at once, and asyncio forgot that there was a transport
            self.writer._transport = before  # type: ignore[attr-defined]
            raise ConnectionResetError from None
        self.tls = True

    async def answer(self, line: str) -> bool:
        verb = line.partition(" ")[0].upper()
        match verb:
            case "EHLO":
                shown = [*self.sink.extensions, *([] if self.tls or not self.sink.offers_tls else ["STARTTLS"])]
                self.say("250-sink", *(f"250-{one}" for one in shown[:-1]), f"250 {shown[-1]}")
            case "STARTTLS":
                self.writer.write(b"220 go\r\n" + self.sink.after_starttls)
                await self.shake_hands()
            case "AUTH":
                await self.log_in(line)
            case "MAIL":
                found = re.fullmatch(r"(?i)MAIL FROM:<(.*?)>(.*)", line)
                assert found is not None
                self.sender, self.parameters = found[1], found[2].strip()
                self.say("250 ok")
            case "RCPT":
                return self.recipient(line)
            case "DATA":
                return await self.text()
            case "QUIT":
                self.say("221 bye")
                return False
            case _:
                self.say("250 ok")
        return True

    async def log_in(self, line: str) -> None:
        words = line.split()
        if words[1] == "PLAIN":
            _, name, password = base64.b64decode(words[2]).decode().split("\0")
        else:
            answers = []
            for _ in range(2):
                self.say("334 go on")
                answers.append(base64.b64decode(await self.reader.readline()).decode())
            name, password = answers
        good = (name, password) == (self.sink.username, self.sink.password)
        self.say("235 welcome" if good else self.sink.login_refusal)

    def recipient(self, line: str) -> bool:
        address = line.partition("<")[2].partition(">")[0]
        match address.partition("@")[0]:
            case "reject":
                self.say("550 5.1.1 nobody here")
            case "later":
                self.say("451 4.3.0 not now")
            case "hangup":
                return False
            case "chatty":
                self.recipients.append(address)
                self.say("250 ok", "250 ok")
            case _:
                self.recipients.append(address)
                self.say("250 ok")
        return True

    async def text(self) -> bool:
        faults = {one.partition("@")[0] for one in self.recipients}
        self.say("354 go")
        if "early" in faults:
            await self.reader.readline()
            self.say("552 5.3.4 enough")
            await asyncio.sleep(3600)
        text = bytearray()
        while (line := await self.reader.readuntil(b"\n")) != b".\r\n":
            text += line[1:] if line.startswith(b".") else line
        if "full" in faults:
            self.say("554 5.6.0 no room")
            return True
        self.sink.stored.append(Stored(self.sender, self.recipients, bytes(text), self.parameters))
        if "lost" in faults:
            return False
        if "silent" in faults:
            await asyncio.sleep(3600)
        if "babble" in faults:
            self.say("what is it?")
        elif "endless" in faults:
            self.writer.write(b"250-" + b"x" * 8_000 + b"\r\n")
            for _ in range(100):
                self.writer.write(b"250-" + b"x" * 4_000 + b"\r\n")
        else:
            self.say("250 taken")
        self.reset()
        return True
