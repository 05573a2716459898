"""One connection to a server: commands out, answers to whom they belong.

- Commands are pipelined; each ends by its own tag. An answer with an *empty* tag (Bridge, at odd line ends) belongs to
  the oldest command. Tags can't be guessed, so no text in a mail can end a command.
- Everyone waiting hears of the end at once: EOF, BYE, a broken answer, or silence for longer than `Timing.silence`.
- A caller that goes away leaves its command behind: the answer is received and dropped (`settle`), never mixed up.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import string
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import Defect, MailError, Untrusted
from mcp_proton.imap.errors import ConnectionLost, LimitExceeded, ProtocolViolation, TimedOut, border, ours, rejection
from mcp_proton.imap.protocol import writer
from mcp_proton.imap.protocol.append_command import pieces
from mcp_proton.imap.protocol.asks import Ask, Done
from mcp_proton.imap.protocol.codes import split
from mcp_proton.imap.protocol.patience import Patience
from mcp_proton.imap.protocol.responses import Response, ResponseReader, Status
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.running import Running, outcome, told
from mcp_proton.imap.protocol.wire import Wire

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.limits import Limits, Timing
    from mcp_proton.imap.protocol.wire import Sink

T = TypeVar("T")
STREAMED = 64 * 1024
"""a literal at least this long is offered to the ask's sink"""
UNASKED_MESSAGE = 64 * 1024
"""a larger message waits to be asked for even where it need not (LITERAL+): a refusal then costs no upload"""
_RESPONSE_WEIGHT = 200  # what a short response costs in memory beside its own bytes
_READ_WEIGHT = 600  # and one that was taken apart
_TAGGED = re.compile(rb"([^\s]*) (OK|NO|BAD)(?: (.*))?\Z", re.DOTALL | re.IGNORECASE)
_STAR, _PLUS = b"*+"


class Connection:
    """`watch` is told of every untagged response before the asks are; `news` of those that no ask took."""

    def __init__(
        self,
        limits: Limits,
        timing: Timing,
        *,
        watch: Callable[[Response], None],
        news: Callable[[Response], None],
    ) -> None:
        self.limits = limits
        self.timing = timing
        self.wire = Wire(limits, self)
        self.greeting: asyncio.Future[Status] = asyncio.get_running_loop().create_future()
        self.unasked_literal = 0
        self.ended: MailError | None = None
        self.saying_goodbye = False
        self.overheard = False
        """somebody wants all news, so none may be passed over"""
        self._loop = asyncio.get_running_loop()
        self._watch, self._news = watch, news
        self._reader = ResponseReader(limits)
        self._running: dict[bytes, Running[Any]] = {}
        self._tags = "".join(secrets.choice(string.ascii_uppercase) for _ in range(5))
        self._count = 0
        self._writing = asyncio.Lock()
        self._writable = asyncio.Event()
        self._writable.set()
        self._go_ahead: tuple[Running[Any], asyncio.Future[bool]] | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._unasked = self._garbage = 0
        self._patience = Patience(
            timing, self._loop, oldest=self._oldest, heard=lambda: self.wire.heard, run_out=self._run_out
        )

    # --- sending -------------------------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """No command is under way."""
        return not self._running

    @property
    def only_forgotten(self) -> bool:
        """Nobody waits for any command under way."""
        return all(running.forgotten for running in self._running.values())

    async def start(self, asks: Sequence[Ask[T]], silence: float | None = None) -> list[Running[T]]:
        """Sends the commands in as few packets as their literals allow. Raises what ended the connection, if it did."""
        oldest = self._oldest()
        if oldest is not None and oldest.ask.exclusive:
            raise Defect("a command was to be sent before IDLE was ended")
        if not all(ask.held_back for ask in asks):
            self.resume()
        async with self._writing:
            started: list[Running[T]] = []
            packet = bytearray()
            try:
                for ask in asks:
                    running = self._enter(ask, silence)
                    started.append(running)
                    chunks = writer.chunks(running.tag, ask.line, self.unasked_literal)
                    for chunk in chunks[:-1]:
                        await self._write(bytes(packet) + chunk)
                        packet.clear()
                        if not await self._may_go_on(running):
                            break
                    else:
                        packet += chunks[-1]
                    if ask.body is not None:
                        await self._stream(running, bytes(packet), ask.body)
                        packet.clear()
                await self._write(bytes(packet))
            except asyncio.CancelledError:
                # A command may be half sent: nothing that follows would be understood.
                self.end(ConnectionLost("the connection was given up in the middle of a command"))
                raise
            return started

    async def finish(self, running: Running[T]) -> T:
        """The ask's result. Raises Rejected for NO and BAD, Unavailable when the connection ends, Ambiguous instead
        where the command may have changed mail. Cancelled, it leaves the command to `settle`."""
        try:
            done = await running.done
        except asyncio.CancelledError:
            self.forget(running)
            raise
        return running.ask.result(done)

    async def run(self, ask: Ask[T]) -> T:
        return await self.finish((await self.start([ask]))[0])

    def forget(self, running: Running[Any]) -> None:
        """Nobody waits for this command any more; what it still brings is dropped."""
        if running.tag in self._running:
            running.ask.abandon()
            running.forgotten = True
            running.done.cancel()
            self.resume()

    def forget_all(self) -> None:
        for running in list(self._running.values()):
            self.forget(running)

    async def settle(self) -> bool:
        """Waits for the commands that were left behind. False if that took too long: the connection is closed then."""
        self.resume()
        try:
            await asyncio.wait_for(self._settled.wait(), self.timing.settle)
        except TimeoutError:
            self.end(ConnectionLost("a cancelled command took too long to end"))
        return self.ended is None

    def send_now(self, data: bytes) -> None:
        """Bytes inside a command under way (DONE, a SASL answer)."""
        if self.ended is None:
            self.wire.write(data)

    def end_of_patience(self, running: Running[Any]) -> None:
        """From now on this command (IDLE, after DONE) has to end like any other."""
        running.silence = None
        running.begun = self._loop.time()
        self._patience.start()

    def _enter(self, ask: Ask[T], silence: float | None) -> Running[T]:
        if self.ended is not None:
            raise self.ended
        self._count += 1
        tag = f"{self._tags}{self._count}".encode("ascii")
        ask.tag = tag
        running = Running(ask, tag, self._loop.time(), self._loop.create_future(), silence=silence)
        self._running[tag] = running
        if exchanges.heard() and not ask.exclusive:  # IDLE lasts as long as nothing happens
            running.done.add_done_callback(partial(told, running, self._loop.time()))
        self._settled.clear()
        self._expect()
        self._patience.start()
        return running

    async def _write(self, data: bytes) -> None:
        if self.ended is not None:
            raise self.ended
        if data:
            self.send_now(data)
            await self._writable.wait()

    async def _stream(self, running: Running[Any], head: bytes, mail: Octets) -> None:
        """A command's message, once the server is ready for it. Sent in part, it ends the connection: nothing is stored."""
        unasked = mail.size <= min(self.unasked_literal, UNASKED_MESSAGE)
        await self._write(head.removesuffix(b"}\r\n") + b"+}\r\n" if unasked else head)
        if not (unasked or await self._may_go_on(running)):
            return
        try:
            async for piece in pieces(running.ask, mail):
                await self._write(piece)
                running.begun = self._loop.time()
        except (MailError, OSError) as error:
            self.end(ConnectionLost("a message could not be sent to its end"))
            raise ours(error, "reading a message to be stored") from error

    async def _may_go_on(self, running: Running[Any]) -> bool:
        """Waits for the server's `+`; False if it ended the command instead of asking for the literal."""
        answer: asyncio.Future[bool] = self._loop.create_future()
        self._go_ahead = (running, answer)
        try:
            return await answer
        finally:
            self._go_ahead = None

    # --- receiving -----------------------------------------------------------------------------------------------

    def on_response(self, text: bytes, literals: Sequence[bytes]) -> None:
        first = text[0] if text else 0
        if first == _STAR:
            self._untagged(text, literals)
        elif first == _PLUS:
            self._continue(text)
        elif not text.strip():
            return
        elif self.greeting.done():
            self._tagged(text)
        else:
            raise ProtocolViolation("what answers there is no IMAP server")

    def on_lines(self, lines: memoryview) -> int:
        oldest = self._oldest()
        if oldest is None:
            return 0
        taken = oldest.ask.take_lines(lines)
        self._weigh(oldest, taken.octets + taken.responses * _READ_WEIGHT)
        return taken.octets

    def sink_for(self, head: bytes, size: int) -> Sink | None:
        if size < STREAMED:
            return None
        sinks = (running.ask.sink_for(head, size) for running in self._running.values())
        return next((sink for sink in sinks if sink is not None), None)

    def on_writable(self, writable: bool) -> None:
        if writable:
            self._writable.set()
        else:
            self._writable.clear()

    def on_lost(self, error: Exception | None) -> None:
        if self.ended is None:
            self.ended = ours(error, "waiting for its answer")
        self._tell_everybody(self.ended)

    def _oldest(self) -> Running[Any] | None:
        return next(iter(self._running.values()), None)

    def _expect(self) -> None:
        """Have lines handed over the way the oldest command wants them."""
        oldest = self._oldest()
        may_skim = len(self._running) == 1 and not self.overheard
        self.wire.framer.by_lines = oldest is not None and oldest.ask.reads_lines and (may_skim or not oldest.ask.skims)

    def _untagged(self, text: bytes, literals: Sequence[bytes]) -> None:
        response = self._reader.read(text, literals)
        if not self.greeting.done() and self._greeted(response):
            return
        if type(response) is not FetchRow:
            self._watch(response)
            if isinstance(response, Status) and response.kind == "BYE" and not self.saying_goodbye:
                self.end(ConnectionLost("the mail server said goodbye"))
                return
        # Dovecot runs pipelined FETCHes side by side, so an answer may belong to a later command than the oldest.
        for running in self._running.values():
            if running.ask.take(response):
                if not running.ask.held_back:
                    self._weigh(running, len(text) + sum(map(len, literals)) + _RESPONSE_WEIGHT)
                return
        self._unasked += 1
        if self._unasked > self.limits.unasked:
            raise LimitExceeded("the mail server kept sending what nobody asked for")
        self._news(response)

    def _weigh(self, running: Running[Any], octets: int) -> None:
        running.held += octets
        if running.held > self.limits.held:
            raise LimitExceeded("the mail server sent more than one command may gather")

    def _greeted(self, response: Response) -> bool:
        if isinstance(response, Status) and response.kind in {"OK", "PREAUTH", "BYE"}:
            self.greeting.set_result(response)
            return True
        return False

    def _continue(self, text: bytes) -> None:
        if self._go_ahead is not None:
            if not self._go_ahead[1].done():
                self._go_ahead[1].set_result(True)
            return
        oldest = self._oldest()
        answer = oldest.ask.go_ahead(text) if oldest is not None else None
        if answer is not None:
            self.send_now(answer)

    def _tagged(self, text: bytes) -> None:
        found = _TAGGED.match(text)
        tag = found[1] if found else b""
        running = self._oldest() if found and not tag else self._running.get(tag)
        if found is None or running is None:
            self._garbage += 1
            if self._garbage > self.limits.garbage:
                raise LimitExceeded("the mail server kept sending what is no answer")
            return
        self._complete(running, found[2].decode("ascii").upper(), found[3] or b"")

    def _complete(self, running: Running[Any], answer: str, text: bytes) -> None:
        del self._running[running.tag]
        self._expect()
        self._unasked = 0
        next_one = self._oldest()
        if next_one is not None:
            next_one.begun = self._loop.time()
        else:
            self._settled.set()
        code, words = split(text)
        if answer == "OK":
            if running.ask.halts:
                self._halt()
            self._watch(Status("OK", code, words))
            if not running.done.done():
                running.done.set_result(Done(code, words))
        elif not running.done.done():
            kept = b"" if running.ask.secret else words
            running.done.set_exception(rejection(running.ask.name, answer, code, kept))
            running.done.exception()  # it may be that nobody asks any more
        if self._go_ahead is not None and self._go_ahead[0] is running and not self._go_ahead[1].done():
            self._go_ahead[1].set_result(False)

    def _halt(self) -> None:
        self.wire.framer.halted = True
        if self.wire.transport is not None:
            self.wire.transport.pause_reading()

    async def upgrade(self, context: ssl.SSLContext, host: str) -> None:
        """TLS from here on, after an ask that `halts`. Raises Untrusted if the server had more to say in plain text:
        that may be anybody's words, put in before the encryption began (CVE-2011-0411 and its kind)."""
        wire = self.wire
        if wire.transport is None or wire.framer.waiting:
            fault = Untrusted("the mail server went on in plain text after agreeing to TLS")
            self.end(fault)
            raise fault
        try:
            with border("agreeing on TLS"):
                wire.transport = await self._loop.start_tls(wire.transport, wire, context, server_hostname=host)
        except MailError as fault:
            self.end(fault)
            raise
        if wire.transport is None:
            raise self.ended or ConnectionLost("the connection ended while agreeing on TLS")
        wire.framer.halted = False

    def pack(self) -> None:
        """Packed from here on, after an ask that `halts`."""
        self.wire.pack()
        if self.wire.transport is not None and self.ended is None:
            self.wire.transport.resume_reading()

    # --- holding back, time and the end --------------------------------------------------------------------------

    def pause(self) -> None:
        """Reads no more until `resume`; the silence that follows isn't the server's. Not while another command waits."""
        if not all(running.ask.held_back for running in self._running.values()):
            return
        if not self._patience.paused and self.wire.transport is not None and self.ended is None:
            self._patience.pause()
            self.wire.transport.pause_reading()

    def resume(self) -> None:
        if self._patience.paused and self.wire.transport is not None and self.ended is None:
            away = self._patience.resume()
            for running in self._running.values():
                running.begun += away
            self.wire.transport.resume_reading()

    def end(self, reason: MailError) -> None:
        """Closes at once; everyone waiting gets `reason`."""
        if self.ended is None:
            self.ended = reason
            self.wire.fail(reason)
            self._tell_everybody(reason)

    def _run_out(self, running: Running[Any]) -> None:
        self.end(TimedOut(f"the mail server did not answer `{running.ask.name}` in time"))

    def _tell_everybody(self, reason: MailError) -> None:
        waiting, self._running = list(self._running.values()), {}
        self._settled.set()
        self._writable.set()
        self._patience.stop()
        if self._go_ahead is not None and not self._go_ahead[1].done():
            self._go_ahead[1].set_result(False)
        if not self.greeting.done():
            self.greeting.set_exception(reason)
            self.greeting.exception()
        for running in waiting:
            if not running.done.done():
                running.done.set_exception(outcome(running.ask, reason))
                running.done.exception()
