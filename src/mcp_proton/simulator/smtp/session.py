"""One SMTP connection: reading commands, sending replies, and the state between them (facts 11.1)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.incoming import Hangup
from mcp_proton.simulator.smtp.arriving import Arriving, ChunkedText, LineTooLongError
from mcp_proton.simulator.smtp.commands import COMMANDS, command_of
from mcp_proton.simulator.smtp.outgoing import Envelope
from mcp_proton.simulator.smtp.replies import BadCommandError, Reply, ReplyError

if TYPE_CHECKING:
    import asyncio

    from mcp_proton.simulator.faults import StepFault
    from mcp_proton.simulator.server import Simulator
    from mcp_proton.simulator.view.users import BridgeUser

_BAD_COMMANDS = 3
_GREETING = Reply(220, "", "127.0.0.1 ESMTP Service Ready")
_TOO_LONG = Reply(500, "5.4.0", "Too long line, closing connection")
_TOO_MANY = Reply(500, "5.5.1", "Too many errors. Quiting now")


class SmtpSession:
    """A client's connection, from greeting to end. What began before the client hung up is done all the same."""

    def __init__(self, simulator: Simulator, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.simulator = simulator
        self.incoming = Arriving(reader)
        self.is_tls = simulator.smtp_implicit_tls
        self.sent = 0
        self.is_over = False
        self.is_working = False
        self._shakes_hands = False
        self._writer = writer
        self.start_anew()

    def start_anew(self) -> None:
        """Forget everything, as after STARTTLS."""
        self.greeted_as = ""
        self.has_authenticated = False
        self.user: BridgeUser | None = None
        self.login = ""
        self.reset()

    def reset(self) -> None:
        """Forget the mail that was begun; the login stays."""
        self.envelope = Envelope()
        self.chunks: ChunkedText | None = None

    @property
    def is_at_rest(self) -> bool:
        """Whether it waits for its client."""
        return self.incoming.is_waiting or self._shakes_hands

    # -- life

    async def run(self) -> None:
        """Serve the connection until it ends, one way or the other."""
        self.is_working = True
        try:
            self.send(bytes(_GREETING))
            await self._serve()
        except (Hangup, ConnectionError):
            pass
        finally:
            self.is_working = False
            self.close()

    def close(self) -> None:
        """End the connection at once."""
        self.is_over = True
        with contextlib.suppress(Exception):
            self._writer.close()

    async def _serve(self) -> None:
        bad = 0
        while True:
            try:
                line = await self.incoming.line()
            except LineTooLongError:
                self.send(bytes(_TOO_LONG))
                raise Hangup from None
            try:
                reply = await self._answer(line.removesuffix(b"\r").decode("utf-8", "surrogateescape"))
            except BadCommandError as error:
                bad += 1
                self.send(bytes(error.reply) + (bytes(_TOO_MANY) if bad > _BAD_COMMANDS else b""))
                if bad > _BAD_COMMANDS:
                    raise Hangup from None
                continue
            except ReplyError as error:
                reply = error.reply
            await self._reply(reply)

    async def _answer(self, line: str) -> Reply:
        name, argument = command_of(line)
        await self.fault(f"before {name}")
        reply = await COMMANDS[name](self, argument)
        if name not in {"DATA", "BDAT"}:
            await self.fault(f"after {name}")
        return reply

    async def _reply(self, reply: Reply) -> None:
        self.send(bytes(reply))
        if reply.code == 221:
            raise Hangup
        if reply.code == 220 and not self.is_tls:
            await self._start_tls()

    async def _start_tls(self) -> None:
        await self._writer.drain()
        self.incoming.forget()
        self._shakes_hands = True
        await self._writer.start_tls(self.simulator.tls_context)
        self._shakes_hands = False
        self.is_tls = True
        self.start_anew()

    # -- what commands work with

    def send(self, data: bytes) -> None:
        """Send bytes."""
        if not self.is_over:
            self.sent += len(data)
            self._writer.write(data)

    async def ask(self, reply: Reply) -> str:
        """Send a reply that asks for a line, and return that line."""
        self.send(bytes(reply))
        return (await self.incoming.line()).removesuffix(b"\r").decode("utf-8", "surrogateescape")

    async def fault(self, step: str) -> None:
        """Carry out the fault that is set for this step, if any."""
        fault = self.simulator.faults.due(step)
        if fault is not None:
            await self._carry_out(fault)

    async def _carry_out(self, fault: StepFault) -> None:
        if fault.action == "delay":
            await self.simulator.wait(fault.seconds)
        elif fault.action == "refuse":
            raise ReplyError(554, "5.0.0", f"Error: {fault.text}")
        elif fault.action == "rebuild":
            self.simulator.rebuild_uidvalidity()
        elif fault.action == "bye":
            self.send(bytes(Reply(421, "4.3.0", fault.text)))
            raise Hangup
        elif fault.action == "cut":
            self.send(b"25")
            await self._writer.drain()
            raise Hangup
        else:
            raise Hangup
