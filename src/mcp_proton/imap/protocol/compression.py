"""COMPRESS=DEFLATE (RFC 4978): both directions packed, from the OK on until the connection ends.

A bomb stays harmless: at most `READ` octets are taken from the socket at a time, which deflate can make a thousand times
as many of; they are unpacked piece by piece into the framer's own room, and the framer's limits hold for what comes out.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from mcp_proton.imap.errors import ProtocolViolation

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.wire import Framer

READ = 8 * 1024
WORD = "COMPRESS=DEFLATE"


class Deflate:
    """Between a socket and a framer. Raises ProtocolViolation for what cannot be unpacked, and what the framer raises."""

    def __init__(self, framer: Framer) -> None:
        self._framer = framer
        self._room = memoryview(bytearray(READ))
        self._inward = zlib.decompressobj(-zlib.MAX_WBITS)
        self._outward = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, -zlib.MAX_WBITS)
        self.over = False
        """set when nobody listens any more"""

    def space(self) -> memoryview:
        """Where the next packed bytes belong."""
        return self._room

    def received(self, count: int) -> None:
        """Unpack what arrived in `space`."""
        self.unpack(bytes(self._room[:count]))

    def unpack(self, packed: bytes) -> None:
        """Hand over what these bytes hold."""
        while not self.over:
            room = self._framer.space()
            try:
                piece = self._inward.decompress(packed, len(room))
            except zlib.error as error:
                raise ProtocolViolation("what the mail server sends cannot be unpacked") from error
            packed = self._inward.unconsumed_tail
            if piece:
                room[: len(piece)] = piece
                room.release()
                self._framer.received(len(piece))
            elif self._inward.eof:
                raise ProtocolViolation("the mail server ended the packing, which lasts as long as the connection")
            if len(piece) == 0 and not packed:
                return

    def packed(self, data: bytes) -> bytes:
        """What to send for these bytes; complete, so that nothing waits for what comes later."""
        return self._outward.compress(data) + self._outward.flush(zlib.Z_SYNC_FLUSH)
