"""HTTP towards one JMAP server: bounded answers, redirects within the owner's origins only, no cookies, no proxies of the
environment. The only module that sends anything."""

from __future__ import annotations

import time
import zlib
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import Ambiguous, MailError, Stale, Unavailable
from mcp_proton.domain.exchanges import Exchange
from mcp_proton.jmap.errors import LimitExceeded, ProtocolViolation, border, of_status, unsure
from mcp_proton.jmap.protocol import patience
from mcp_proton.jmap.protocol.login import Login

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

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


class Connections(httpx2.AsyncHTTPTransport):
    """The connections to a server: at most ten, and five of them kept for a minute without use."""

    def __init__(self) -> None:
        super().__init__(
            trust_env=False,
            limits=httpx2.Limits(max_connections=10, max_keepalive_connections=5, keepalive_expiry=60.0),
        )

    @property
    def counted(self) -> tuple[int, int]:
        """How many are open and good for another request, and how many of them are used."""
        good = [one for one in self._pool.connections if not (one.is_closed() or one.has_expired())]
        return len(good), sum(not one.is_idle() for one in good)


class Web:
    """One account's way to its server. Nothing is opened before it is needed."""

    def __init__(self, endpoint: Endpoint, credentials: Credentials, timing: Timing | None = None) -> None:
        self._endpoint, self._login = endpoint, Login(credentials)
        self._timing = timing or Timing()
        self._made: httpx2.AsyncClient | None = None
        self._open: Connections | None = None
        self._patience = patience.Patience()
        self.requests = 0
        """how many were sent"""

    async def get(self, url: str, most: int) -> tuple[str, bytes]:
        """Where a document was found in the end, and its octets."""
        for _ in range(MOST_REDIRECTS + 1):
            async with self._sent("GET", url, headers={"Accept": JSON}, doing="looking for the session") as answer:
                if answer.status_code not in REDIRECTS:
                    self._check(answer, changes=False)
                    return url, await _whole(answer, most, changes=False)
                url = self._endpoint.resolved(url, answer.headers.get("location"))
        raise ProtocolViolation("the mail server sends us in circles")

    async def post(self, url: str, body: bytes, most: int, *, changes: bool, media_type: str = JSON) -> bytes:
        """The octets of the answer. With `changes`, an answer that is lost is Ambiguous."""
        headers = {"Content-Type": media_type, "Accept": JSON}
        doing = "changing something" if changes else "answering"
        async with self._sent("POST", url, content=body, headers=headers, doing=doing, changes=changes) as answer:
            self._check(answer, changes=changes)
            return await _whole(answer, most, changes=changes)

    async def upload(self, url: str, mail: Octets, most: int) -> bytes:
        """Send octets, piece by piece. Return the octets of the answer."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(mail.size), "Accept": JSON}
        async with self._sent("POST", url, content=mail.chunks, headers=headers, doing="taking a message") as answer:
            self._check(answer, changes=False)
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
                self._check(answer, changes=False)
            skip = 0 if answer.status_code == 206 else start
            if answer.status_code == 206 and not _begins_at(answer.headers.get("content-range"), start):
                raise ProtocolViolation("the mail server sends another range than was asked for")
            async for piece in _cut(_pieces(answer), skip, limit):
                yield piece

    async def events(self, url: str, last_id: str, silence: float) -> AsyncGenerator[bytes]:
        """Octets of an event stream, "" first once it is open; none where there is none. It may be silent for `silence` s.

        That such a stream breaks says nothing of the server: it is not remembered against it.
        """
        await self._turn()
        headers = {"Accept": EVENTS, "Accept-Encoding": "identity"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        with border("telling what changes"):
            async with AsyncExitStack() as opened:
                answer = await self._answered(opened, "GET", url, headers, silence=silence)
                if answer.status_code in {401, 403, 429} or answer.status_code >= 500:
                    self._check(answer, changes=False)
                kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
                if answer.status_code == 200 and kind == EVENTS:
                    yield b""
                    async for piece in _pieces(answer):
                        yield piece

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections are open, and how many of them are used."""
        return (0, 0) if self._open is None else self._open.counted

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
        content: bytes | Callable[[], AsyncIterator[bytes]] | None = None,
        changes: bool = False,
    ) -> AsyncIterator[httpx2.Response]:
        await self._turn()
        began, end = time.perf_counter(), "left"
        try:
            with border(doing, changes=changes):
                async with AsyncExitStack() as opened:
                    yield await self._answered(opened, method, url, headers, content)
            end = "ok"
        except MailError as error:
            end = "lost" if isinstance(error, Unavailable | Ambiguous) else "refused"
            self._patience.note(error)
            raise
        finally:
            exchanges.tell(Exchange("jmap", method, time.perf_counter() - began, end))
        self._patience.well()

    async def _turn(self) -> None:
        """Wait until the server may be asked. What was refused before says nothing of another login."""
        if await self._login.is_another():
            self._patience.another_login()
        await self._patience.turn()

    async def _answered(
        self,
        opened: AsyncExitStack,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | Callable[[], AsyncIterator[bytes]] | None = None,
        silence: float | None = None,
    ) -> httpx2.Response:
        """An answer, to be read while `opened` is. It is asked for twice where an access token is refused and there is
        another: a 401 says that the request was not applied (RFC 9110 §15.5.2), whatever it asks for."""
        timing = self._timing
        patient = httpx2.Timeout(timing.answer, connect=timing.connect, pool=timing.turn, read=silence or timing.answer)
        for last in (False, True):
            shown = await self._login.shown()
            named = {**headers, "Authorization": shown}
            body = content() if callable(content) else content
            self.requests += 1
            asked = self._client().stream(method, url, headers=named, content=body, timeout=patient)
            answer = await opened.enter_async_context(asked)
            if last or answer.status_code != 401 or not await self._login.has_instead(shown):
                break
            await opened.aclose()
        return answer

    def _check(self, answer: httpx2.Response, *, changes: bool) -> None:
        if answer.status_code in {200, 201}:
            return
        end = self._login.end(answer.request.headers["authorization"]) if answer.status_code in {401, 403} else None
        wait = patience.asked_for(answer.headers.get("retry-after"))
        raise of_status(answer.status_code, changes=changes, end=end, now=time.time(), wait=wait)

    def _client(self) -> httpx2.AsyncClient:
        if self._made is None:
            self._open = Connections()
            self._made = httpx2.AsyncClient(
                headers={"Accept-Encoding": "gzip", "User-Agent": "mcp-proton"},
                transport=self._open,
                follow_redirects=False,
                trust_env=False,
            )
        return self._made


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
