"""A token endpoint (RFC 6749 §3.2) that says what a test tells it to say, on loopback."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

Answer = bytes | tuple[int, bytes]


class TokenEndpoint:
    """`answers` are given one after the other, the last one for ever; or a function makes one of the form."""

    def __init__(self, answers: list[Answer] | Callable[[dict[str, str]], Answer]) -> None:
        self.answers = answers
        self.forms: list[dict[str, str]] = []
        self.heads: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        form = dict(parse_qsl((await reader.readexactly(length)).decode()))
        self.heads.append(head)
        self.forms.append(form)
        told = self.answers(form) if callable(self.answers) else self._next()
        status, body = told if isinstance(told, tuple) else (200, told)
        writer.write(
            b"HTTP/1.1 %d Well\r\nContent-Type: application/json\r\nLocation: http://127.0.0.1:1/\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (status, len(body), body)
        )
        writer.close()

    def _next(self) -> Answer:
        answers = self.answers
        assert isinstance(answers, list)
        return answers.pop(0) if len(answers) > 1 else answers[0]


@asynccontextmanager
async def token_endpoint(
    answers: list[Answer] | Callable[[dict[str, str]], Answer],
) -> AsyncIterator[TokenEndpoint]:
    made = TokenEndpoint(answers)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token"
    try:
        yield made
    finally:
        server.close()
