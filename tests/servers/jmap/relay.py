"""The relay of `tests/servers/relay.py` for HTTP: before a JMAP server, something can happen at any request.

A step is what a request asks (`session`, `blob`, `upload`, or its method calls: `Email/get Email/query`) and the how-manieth
of its kind.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from tests.servers.relay import Ends, Over, Passage, Relay

_STATUS = b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


class HttpRelay(Relay):
    """Listens on `port`."""

    def between(self, client: Ends, server: Ends) -> Passage:
        return HttpPassage(self, client, server)


class HttpPassage(Passage):
    """One connection: a request in, its answer out."""

    async def run(self) -> None:
        """Until one of them ends it."""
        while True:
            self._head, self._body = await _message(self.client)
            step = self._relay.passing(_verb(self._head, self._body))
            if (trap := self._relay.due(step, "before")) is not None:
                answer = await trap.act(self, b"")
                if answer:
                    self.client_writer.write(answer)
                    continue
            self.server_writer.write(self._head + self._body)
            head, body = await _message(self.server)
            answer = head + body
            if self.is_late:
                raise Over
            if (trap := self._relay.due(step, "after")) is not None:
                answer = await trap.act(self, answer)
            self.client_writer.write(answer)
            await self.client_writer.drain()

    def refused(self, answer: bytes) -> bytes:
        """A method-level error in place of each answer: nothing was done, or (RFC 8620 §3.6.2) some of it may have been."""
        kind = "serverPartialFail" if answer else "serverFail"
        calls = json.loads(self._body)["methodCalls"] if self._body else []
        if not calls:
            return _STATUS % (500, 0, b"")
        told = [["error", {"type": kind}, call[2]] for call in calls]
        octets = json.dumps({"methodResponses": told, "sessionState": "s1"}).encode()
        return _STATUS % (200, len(octets), octets)

    def goodbye(self) -> bytes:
        """What a gateway says when the server behind it goes."""
        return _STATUS % (503, 0, b"")

    def torn(self, answer: bytes) -> bytes:
        """The first half of an answer."""
        return answer[: len(answer) // 2]

    async def client_gone(self) -> None:
        """Wait until the client gave up."""
        with suppress(ConnectionError):
            while await self.client.read(65536):
                pass


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:] if b":" in line)
    return head, await reader.readexactly(int(fields.get(b"content-length", 0)))


def _verb(head: bytes, body: bytes) -> str:
    path = head.split(b" ", 2)[1]
    if path.endswith(b"/api"):
        return " ".join(call[0] for call in json.loads(body)["methodCalls"])
    return next((word for word in ("blob", "upload") if f"/{word}/".encode() in path), "session")
