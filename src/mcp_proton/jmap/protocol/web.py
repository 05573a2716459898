"""HTTP towards one JMAP server: bounded answers, redirects within the owner's origins only, no cookies, no proxies of the
environment. The only module that sends anything."""

from __future__ import annotations

import base64
import time
import zlib
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import Ambiguous, MailError, Stale, Unavailable
from mcp_proton.domain.exchanges import Exchange
from mcp_proton.jmap.errors import LimitExceeded, ProtocolViolation, border, is_over, of_status, unsure
from mcp_proton.jmap.protocol import patience
from mcp_proton.jmap.protocol.endpoint import Auth

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.jmap.protocol.endpoint import Credentials, Endpoint

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CHUNK = 64 * 1024
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of silence that are borne."""

    connect: float = 10.0
    answer: float = 60.0
    turn: float = 30.0


class Web:
    """One account's way to its server. Nothing is opened before it is needed."""

    def __init__(self, endpoint: Endpoint, credentials: Credentials, timing: Timing | None = None) -> None:
        self._endpoint, self._credentials = endpoint, credentials
        self._timing = timing or Timing()
        self._made: httpx2.AsyncClient | None = None
        self._secret: str | None = None
        self._refused: str | None = None
        self._patience = patience.Patience()
        self.requests = 0
        """how many were sent"""

    async def get(self, url: str, most: int) -> tuple[str, bytes]:
        """Where a document was found in the end, and its octets."""
        for _ in range(MOST_REDIRECTS + 1):
            async with self._sent("GET", url, headers={"Accept": JSON}, doing="looking for the session") as answer:
                if answer.status_code not in REDIRECTS:
                    await self._check(answer, changes=False)
                    return url, await _whole(answer, most, changes=False)
                url = self._endpoint.resolved(url, answer.headers.get("location"))
        raise ProtocolViolation("the mail server sends us in circles")

    async def post(self, url: str, body: bytes, most: int, *, changes: bool, media_type: str = JSON) -> bytes:
        """The octets of the answer. With `changes`, an answer that is lost is Ambiguous."""
        headers = {"Content-Type": media_type, "Accept": JSON}
        doing = "changing something" if changes else "answering"
        async with self._sent("POST", url, content=body, headers=headers, doing=doing, changes=changes) as answer:
            await self._check(answer, changes=changes)
            return await _whole(answer, most, changes=changes)

    async def upload(self, url: str, mail: Octets, most: int) -> bytes:
        """Send octets, piece by piece. Return the octets of the answer."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(mail.size), "Accept": JSON}
        async with self._sent("POST", url, content=mail.chunks(), headers=headers, doing="taking a message") as answer:
            await self._check(answer, changes=False)
            return await _whole(answer, most, changes=False)

    async def stream(self, url: str, start: int, limit: int | None) -> AsyncIterator[bytes]:
        """Octets from `start`, at most `limit`: by a range where the server can, else by passing over what is before.

        Raises `Stale` where there are none any more.
        """
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        if start or limit is not None:
            headers["Range"] = f"bytes={start}-" + ("" if limit is None else str(start + limit - 1))
        async with self._sent("GET", url, headers=headers, doing="sending a message") as answer:
            if answer.status_code == 416:
                return
            if answer.status_code == 404:
                raise Stale("this handle no longer points at a message")
            if answer.status_code != 206:
                await self._check(answer, changes=False)
            skip = 0 if answer.status_code == 206 else start
            if answer.status_code == 206 and not _begins_at(answer.headers.get("content-range"), start):
                raise ProtocolViolation("the mail server sends another range than was asked for")
            async for piece in _cut(_pieces(answer), skip, limit):
                yield piece

    async def events(self, url: str, last_id: str, silence: float) -> AsyncGenerator[bytes]:
        """Octets of an event stream, "" first once it is open; none where there is none. It may be silent for `silence` s.

        That such a stream breaks says nothing of the server: it is not remembered against it.
        """
        if not self._credentials.lasting:
            await self._renew()
        await self._patience.turn()
        shown = {"Accept": EVENTS, "Accept-Encoding": "identity", "Authorization": await self._authorization()}
        if last_id:
            shown["Last-Event-ID"] = last_id
        timing, self.requests = self._timing, self.requests + 1
        timeout = httpx2.Timeout(timing.answer, connect=timing.connect, pool=timing.turn, read=silence)
        with border("telling what changes"):
            async with self._client().stream("GET", url, headers=shown, timeout=timeout) as answer:
                if answer.status_code in {401, 403, 429} or answer.status_code >= 500:
                    await self._check(answer, changes=False)
                kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
                if answer.status_code == 200 and kind == EVENTS:
                    yield b""
                    async for piece in _pieces(answer):
                        yield piece

    async def aclose(self) -> None:
        """Close every connection."""
        if self._made is not None:
            await self._made.aclose()

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        doing: str,
        content: bytes | AsyncIterator[bytes] | None = None,
        changes: bool = False,
    ) -> AsyncIterator[httpx2.Response]:
        if not self._credentials.lasting:
            await self._renew()
        await self._patience.turn()
        client = self._client()
        shown = {**headers, "Authorization": await self._authorization()}
        self.requests += 1
        began, end = time.perf_counter(), "left"
        try:
            with border(doing, changes=changes):
                async with client.stream(method, url, headers=shown, content=content) as answer:
                    yield answer
            end = "ok"
        except MailError as error:
            end = "lost" if isinstance(error, Unavailable | Ambiguous) else "refused"
            self._patience.note(error)
            raise
        finally:
            exchanges.tell(Exchange("jmap", method, time.perf_counter() - began, end))
        self._patience.well()

    async def _check(self, answer: httpx2.Response, *, changes: bool) -> None:
        if answer.status_code in {200, 201}:
            return
        secret = self._secret if self._credentials.auth is Auth.BEARER else None
        if answer.status_code in {401, 403}:
            self._secret, self._refused = None, self._secret
        wait = patience.asked_for(answer.headers.get("retry-after"))
        raise of_status(answer.status_code, changes=changes, secret=secret, now=time.time(), wait=wait)

    async def _renew(self) -> None:
        """Take what is shown now. What was refused before says nothing of another token."""
        latest = await self._credentials.secret()
        if latest != self._refused:
            self._patience.another_login()
        self._secret = latest

    async def _authorization(self) -> str:
        if self._secret is None or (self._credentials.auth is Auth.BEARER and is_over(self._secret, time.time())):
            self._secret = await self._credentials.secret()
        return authorization(self._credentials, self._secret)

    def _client(self) -> httpx2.AsyncClient:
        if self._made is None:
            timing = self._timing
            self._made = httpx2.AsyncClient(
                headers={"Accept-Encoding": "gzip", "User-Agent": "mcp-proton"},
                timeout=httpx2.Timeout(timing.answer, connect=timing.connect, pool=timing.turn),
                limits=httpx2.Limits(max_connections=10, max_keepalive_connections=5, keepalive_expiry=60.0),
                follow_redirects=False,
                trust_env=False,
            )
        return self._made


def authorization(credentials: Credentials, secret: str) -> str:
    """The value of the Authorization header (RFC 7617, RFC 6750)."""
    if credentials.auth is Auth.BEARER:
        return f"Bearer {secret}"
    return "Basic " + base64.b64encode(f"{credentials.username}:{secret}".encode()).decode("ascii")


async def _whole(answer: httpx2.Response, most: int, *, changes: bool) -> bytes:
    held = bytearray()
    async for piece in _pieces(answer):
        held += piece
        if len(held) > most:
            error = LimitExceeded("the mail server's answer is larger than we are ready to hold")
            raise unsure(error) if changes else error
    return bytes(held)


async def _pieces(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """The octets of a body. Unpacked here, piece by piece, so that a small answer cannot become a large one at once."""
    packing = answer.headers.get("content-encoding", "identity").strip().lower()
    if packing not in {"identity", "gzip", "x-gzip"}:
        raise ProtocolViolation("the mail server packs its answer in a way that was not asked for")
    unpacker = None if packing == "identity" else zlib.decompressobj(wbits=31)
    async for raw in answer.aiter_raw():
        if unpacker is None:
            yield raw
            continue
        waiting = raw
        while waiting:
            try:
                yield unpacker.decompress(waiting, CHUNK)
            except zlib.error:
                raise ProtocolViolation("the mail server's answer cannot be unpacked") from None
            waiting = unpacker.unconsumed_tail


async def _cut(pieces: AsyncIterator[bytes], skip: int, limit: int | None) -> AsyncIterator[bytes]:
    left = limit
    async for piece in pieces:
        if skip >= len(piece):
            skip -= len(piece)
            continue
        kept = piece[skip : None if left is None else skip + left]
        skip = 0
        left = None if left is None else left - len(kept)
        if kept:
            yield kept
        if left == 0:
            return


def _begins_at(content_range: str | None, start: int) -> bool:
    return content_range is not None and content_range.replace(" ", "").startswith(f"bytes{start}-")
