"""Bytes into responses: cuts what arrives into lines, receives literals into their own memory, holds to the limits.

A response is its text without line ends, every literal replaced by its `{n}`, and the literals in order. Tolerated:
a bare LF, literal8 (`~{n}`), blank lines. `{n}` at the end of a status text ("* OK see {5}") is only text.
Nothing here knows what a response means.
"""

from __future__ import annotations

import asyncio
import io
import re
from typing import TYPE_CHECKING, Protocol

from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation
from mcp_proton.imap.protocol.compression import Deflate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.limits import Limits

ROOM = 128 * 1024
AT_ONCE = 32 * 1024
"""octets of whole lines handed over together at most"""
_LITERAL = re.compile(rb"~?\{([0-9]{1,19})\+?\}\Z")
_HOLDS_DATA = re.compile(rb"\* (?!(?:OK|NO|BAD|BYE|PREAUTH)(?: |\Z))", re.IGNORECASE)
_CR, _CLOSING_BRACE = 13, 125


class Sink(Protocol):
    """Where a literal goes piece by piece instead of being kept."""

    def write(self, piece: bytes) -> None: ...


class Receiver(Protocol):
    """Who gets the responses. All calls come from the event loop and must not wait."""

    def on_response(self, text: bytes, literals: Sequence[bytes]) -> None: ...

    def on_lines(self, lines: memoryview) -> int:
        """How many octets of these whole lines were read as responses without literals; the line after them is cut
        and given to `on_response`. Valid only during the call. Asked for while the framer's `by_lines` is set."""
        ...

    def sink_for(self, head: bytes, size: int) -> Sink | None:
        """Where a response's first literal, the one after `head`, shall go; None keeps it (`Limits.literal`)."""
        ...

    def on_lost(self, error: Exception | None) -> None:
        """The connection is over, once; None is an orderly end."""
        ...

    def on_writable(self, writable: bool) -> None: ...


class Framer:
    """The cutting itself, without a socket: `space()` says where to put bytes, `received(n)` that they are there.

    Raises ProtocolViolation or LimitExceeded out of `received`; after that it must not be used again.
    """

    def __init__(self, limits: Limits, receiver: Receiver) -> None:
        self.limits = limits
        self.halted = False
        """set by the receiver to stop after the response it is just given (before TLS begins)"""
        self.by_lines = False
        """set by the receiver while what comes may be handed over several lines at once"""
        self._receiver = receiver
        self._buffer = bytearray(ROOM)
        self._view = memoryview(self._buffer)
        self._start = self._seen = self._end = 0
        self._pieces: list[bytes] = []
        self._literals: list[bytes] = []
        self._size = 0
        self._missing = 0  # bytes of the literal under way still to come
        self._literal: io.BytesIO | None = None
        self._target: memoryview | None = None
        self._sink: Sink | None = None

    @property
    def waiting(self) -> int:
        """Bytes that arrived and were not looked at, because the receiver halted us."""
        return self._end - self._start

    @property
    def literal_missing(self) -> int:
        """Bytes of a literal still to come; 0 between literals."""
        return self._missing

    def space(self) -> memoryview:
        """Where the next bytes belong: a large literal's own memory, else the line buffer. Never empty."""
        if self._target is not None:
            return self._target[len(self._target) - self._missing :]
        if self._sink is not None:
            return self._view[: min(self._missing, len(self._buffer))]
        return self._view[self._end :]

    def received(self, count: int) -> None:
        if self._target is not None:
            self._missing -= count
            if not self._missing:
                self._literal_whole()
        elif self._sink is not None:
            self._sink.write(bytes(self._view[:count]))
            self._missing -= count
            if not self._missing:
                self._end_of_literal(b"")
        else:
            self._end += count
            self._cut()

    def untouched(self) -> bytes:
        """Takes out the bytes that wait: they are no plain text."""
        rest = bytes(self._view[self._start : self._end])
        self._start = self._seen = self._end = 0
        return rest

    def drop(self) -> None:
        """Lets go of a literal that will not be finished."""
        if self._target is not None:
            self._target.release()
        self._target = self._literal = None

    def _cut(self) -> None:
        while self._start < self._end and not self.halted:
            if self._missing:
                self._from_buffer()
                continue
            if self.by_lines and not self._pieces and self._hand_over_lines():
                continue
            newline = self._buffer.find(b"\n", self._seen, self._end)
            if newline < 0:
                self._seen = self._end
                break
            stop = newline
            if stop > self._start and self._buffer[stop - 1] == _CR:
                stop -= 1
            line = bytes(self._view[self._start : stop])
            self._start = self._seen = newline + 1
            self._line(line)
        self._make_room()

    def _hand_over_lines(self) -> bool:
        """Offer the whole lines that lie here; whether any were taken."""
        stop = self._buffer.rfind(b"\n", self._start, min(self._end, self._start + AT_ONCE)) + 1
        taken = self._receiver.on_lines(self._view[self._start : stop]) if stop else 0
        if taken:
            self._start = self._seen = self._start + taken
        return taken > 0

    def _line(self, line: bytes) -> None:
        if line and line[-1] == _CLOSING_BRACE and self._literal_begins(line):
            return
        if not self._pieces:
            self._receiver.on_response(line, ())
            return
        self._pieces.append(line)
        text, literals = b"".join(self._pieces), self._literals
        self._pieces, self._literals, self._size = [], [], 0
        self._receiver.on_response(text, literals)

    def _literal_begins(self, line: bytes) -> bool:
        marker = _LITERAL.search(line)
        if marker is None or not _HOLDS_DATA.match(self._pieces[0] if self._pieces else line):
            return False
        size = int(marker[1])
        sink = None if self._pieces or not size else self._receiver.sink_for(line, size)
        self._pieces.append(line)
        self._size += len(line) + (0 if sink else size)
        if sink is None:
            self._check_size(size)
        self._missing, self._sink = size, sink
        if not size:
            self._end_of_literal(b"")
        return True

    def _check_size(self, size: int) -> None:
        if size > self.limits.literal or self._size > self.limits.response:
            raise LimitExceeded("the mail server announced more data than can be held")
        if len(self._literals) >= self.limits.literals:
            raise LimitExceeded("the mail server put too many literals into one response")

    def _from_buffer(self) -> None:
        """The part of a literal that already lies in the line buffer; the rest goes to its own memory directly."""
        have = min(self._missing, self._end - self._start)
        piece = self._view[self._start : self._start + have]
        self._start = self._seen = self._start + have
        if self._sink is not None:
            self._sink.write(bytes(piece))
            self._missing -= have
            if not self._missing:
                self._end_of_literal(b"")
        elif have == self._missing:
            self._missing = 0
            self._end_of_literal(bytes(piece))
        else:
            # BytesIO hands its memory out without a copy, and zeroed memory costs nothing until it is filled.
            self._literal = io.BytesIO(bytes(self._missing))
            self._target = self._literal.getbuffer()
            self._target[:have] = piece
            self._missing -= have

    def _literal_whole(self) -> None:
        literal, target = self._literal, self._target
        self._literal = self._target = None
        if literal is None or target is None:
            raise ProtocolViolation("a literal ended that never began")
        target.release()
        self._end_of_literal(literal.getvalue())

    def _end_of_literal(self, value: bytes) -> None:
        self._sink = None
        self._literals.append(value)

    def _make_room(self) -> None:
        left = self._end - self._start
        if left == 0:
            self._start = self._seen = self._end = 0
            if len(self._buffer) > ROOM:
                self._move_to(bytearray(ROOM))
        elif self._start and len(self._buffer) - self._end < ROOM // 2:
            self._move_to(self._buffer)
        if self._end == len(self._buffer):
            if left > self.limits.line:
                raise LimitExceeded("the mail server sent a line without an end")
            self._move_to(bytearray(left * 2))

    def _move_to(self, buffer: bytearray) -> None:
        left = self._end - self._start
        view = memoryview(buffer)
        view[:left] = self._view[self._start : self._end]
        self._seen -= self._start
        self._start, self._end = 0, left
        self._buffer, self._view = buffer, view


class Wire(asyncio.BufferedProtocol):
    """The framer on a socket. Breaks the connection on the first thing that is not IMAP."""

    def __init__(self, limits: Limits, receiver: Receiver) -> None:
        self.framer = Framer(limits, receiver)
        self.transport: asyncio.Transport | None = None
        self._packing: Deflate | None = None
        self.heard = 0.0
        """when bytes last arrived, in the loop's time"""
        self._clock = asyncio.get_running_loop().time
        self._receiver = receiver
        self._fault: Exception | None = None
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a stream transport, as asyncio promises

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.framer.space() if self._packing is None else self._packing.space()

    def buffer_updated(self, nbytes: int) -> None:
        if self._over:
            return
        self.heard = self._clock()
        try:
            if self._packing is None:
                self.framer.received(nbytes)
            else:
                self._packing.received(nbytes)
        except ProtocolViolation as fault:
            self.fail(fault)

    def write(self, data: bytes) -> None:
        """Sends bytes, packed from `pack` on."""
        if self.transport is not None:
            self.transport.write(data if self._packing is None else self._packing.packed(data))

    @property
    def packed(self) -> bool:
        """Whether both directions are packed."""
        return self._packing is not None

    def pack(self) -> None:
        """Both directions are packed from here on; what the framer has not looked at is the beginning of it."""
        rest = self.framer.untouched()
        self.framer.halted = False
        self._packing = Deflate(self.framer)
        try:
            self._packing.unpack(rest)
        except ProtocolViolation as fault:
            self.fail(fault)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.framer.drop()
        self._end(self._fault or exc)

    def pause_writing(self) -> None:
        self._receiver.on_writable(False)

    def resume_writing(self) -> None:
        self._receiver.on_writable(True)

    def fail(self, fault: Exception) -> None:
        """Ends the connection at once because of `fault`, which is what everybody waiting will get."""
        self._fault = self._fault or fault
        if self.transport is not None:
            self.transport.abort()
        self._end(self._fault)

    def _end(self, error: Exception | None) -> None:
        if not self._over:
            self._over = True
            if self._packing is not None:
                self._packing.over = True
            self._receiver.on_lost(error)
