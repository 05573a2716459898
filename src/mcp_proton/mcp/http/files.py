"""Files: what a one-time link gives or takes, streamed (N-12).

    GET   the file, whole, as an attachment that no page can run
    PUT   the octets of a new artifact, up to its limit

A link that is not there, was used, is over, or is another client's gets the answer of a path that does not exist. Each
transfer ends in its time; what broke off is used up all the same, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import JSONResponse, PlainTextResponse

from mcp_proton.domain.errors import MailError, NotFound, OverLimit
from mcp_proton.domain.links import Way
from mcp_proton.mcp.http.answers import later
from mcp_proton.mcp.http.bearers import Bearer
from mcp_proton.mcp.http.watching import write
from mcp_proton.services.door import redeeming
from mcp_proton.storage.access.links import PATH

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from mcp_proton.mcp.http.bearers import Bearers
    from mcp_proton.services.door.redeeming import Opened
    from mcp_proton.services.door.world import World

AT_ONCE = 16
SECONDS = 600.0
SILENCE = 30.0
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_KIND = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")
_PROTECTED = {
    "cache-control": "no-store",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Files:
    """Serves the links of a world. `at_once` transfers go on together; each has `seconds`, and `silence` between octets.

    `strange` counts a request for what is not there, and says how long its sender has to wait.
    """

    def __init__(
        self,
        world: World,
        bearers: Bearers,
        strange: Callable[[Scope], float] = lambda _: 0.0,
        *,
        at_once: int = AT_ONCE,
        seconds: float = SECONDS,
        silence: float = SILENCE,
    ) -> None:
        self._world, self._bearers, self._strange = world, bearers, strange
        self._at_once, self._seconds, self._silence = at_once, seconds, silence
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request for a link."""
        way = {"GET": Way.DOWNLOAD, "PUT": Way.UPLOAD}.get(scope["method"])
        secret = scope["path"].removeprefix(PATH)
        try:
            if way is None or not _SECRET.fullmatch(secret):
                raise redeeming.gone()
            shown = await self._shown(scope)
            opened = await redeeming.opened(self._world, secret, way, shown)
            refusal = self._room(opened, scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            await redeeming.use(self._world, secret)
        except NotFound:
            wait = self._strange(scope)
            await (later(429, "too many requests for what is not there", wait) if wait else absent())(
                scope, receive, send
            )
            return
        except MailError as error:
            await later(503, error.message, 5)(scope, receive, send)
            return
        async with self._counted(opened, scope["method"]) as transfer:
            await (self._give if way is Way.DOWNLOAD else self._take)(opened, transfer, scope, receive, send)

    async def _shown(self, scope: Scope) -> str | None:
        """Return the client whose token came along; none need, and one that is no good is another's."""
        if not any(name == b"authorization" for name, _ in scope["headers"]):
            return None
        who = await self._bearers.recognise(scope["headers"])
        if not isinstance(who, Bearer):
            raise redeeming.gone()
        return who.client

    def _room(self, opened: Opened, scope: Scope) -> Response | None:
        """Return what keeps a transfer from beginning; the link is good for another try then."""
        if self._under_way >= self._at_once:
            return later(503, "too many files are on their way", 5)
        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if opened.kept is None and said.isdigit() and int(said) > opened.link.most:
            return _too_large(opened)
        return None

    @asynccontextmanager
    async def _counted(self, opened: Opened, method: str) -> AsyncIterator[Transfer]:
        self._under_way += 1
        transfer, began = Transfer(), time.perf_counter()
        try:
            async with asyncio.timeout(self._seconds):
                yield transfer
        except TimeoutError:
            transfer.outcome = "too_slow"
        finally:
            self._under_way -= 1
            write(
                "file",
                client=opened.link.client,
                method=method,
                outcome=transfer.outcome,
                octets=transfer.octets,
                latency_ms=round((time.perf_counter() - began) * 1000, 1),
            )

    async def _give(self, opened: Opened, transfer: Transfer, _: Scope, receive: Receive, send: Send) -> None:
        kept = opened.kept
        if kept is None:
            return
        leaving = asyncio.create_task(_left(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _headers(opened)})
            async with aclosing(self._world.artifacts.read(kept)) as chunks:  # type: ignore[type-var]  # it is a generator
                async for chunk in chunks:
                    if leaving.done():
                        return
                    async with asyncio.timeout(self._silence):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    transfer.octets += len(chunk)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            transfer.outcome = "ok"
        finally:
            leaving.cancel()

    async def _take(self, opened: Opened, transfer: Transfer, scope: Scope, receive: Receive, send: Send) -> None:
        link = opened.link
        answer: Response
        try:
            async with self._world.artifacts.create(
                opened.caller, link.filename, link.media_type, id=link.artifact
            ) as writer:
                async for chunk in self._body(receive, link.most):
                    transfer.octets += len(chunk)
                    await writer.write(chunk)
                kept = await writer.done()
            told = {"artifact": kept.id, "size": kept.size, "sha256": kept.sha256}
            answer, transfer.outcome = JSONResponse(told, 201, _PROTECTED), "ok"
        except TimeoutError:
            answer, transfer.outcome = _refused("the file took too long to arrive", 408), "too_slow"
        except ConnectionError:
            return
        except OverLimit:
            answer, transfer.outcome = _too_large(opened), "too_large"
        except MailError as error:
            answer, transfer.outcome = _refused(error.message, 507), error.code
        await answer(scope, receive, send)

    async def _body(self, receive: Receive, most: int) -> AsyncIterator[bytes]:
        more, size = True, 0
        while more:
            async with asyncio.timeout(self._silence):
                message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the upload broke off")
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            if size > most:
                raise OverLimit(f"a file holds at most {most} octets")
            yield chunk


class Transfer:
    """How a transfer goes: `broken` until it is whole."""

    outcome = "broken"
    octets = 0


def absent() -> Response:
    """The answer of a path that does not exist."""
    return PlainTextResponse("Not Found", 404)


def _too_large(opened: Opened) -> Response:
    return _refused(f"a file holds at most {opened.link.most} octets", 413)


def _refused(why: str, status: int) -> Response:
    return JSONResponse({"error": why}, status, {**_PROTECTED, "connection": "close"})


def _headers(opened: Opened) -> list[tuple[bytes, bytes]]:
    link = opened.link
    kind = link.media_type if _KIND.fullmatch(link.media_type) else "application/octet-stream"
    size = link.most if opened.kept is None else opened.kept.size
    told = {
        **_PROTECTED,
        "accept-ranges": "none",
        "content-disposition": f"attachment; filename*=UTF-8''{quote(link.filename, safe='')}",
        "content-length": str(size),
        "content-type": kind,
    }
    return [(name.encode(), value.encode()) for name, value in told.items()]


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
