"""The HTTP side of a scripted JMAP server, on loopback, in the test's own event loop.

What a test may set: `lie` changes the answer of a method before it is told; `meanwhile` runs before a method acts (a race);
`cut` ends the connection before or after the next change was done; `answers` are HTTP answers given instead of the next ones.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from tests.canaries import words
from tests.servers.jmap.methods import Limits, Methods, Refusal
from tests.servers.jmap.store import Store

if TYPE_CHECKING:
    from typing import Self

CORE, MAIL = "urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"
SUBMISSION = "urn:ietf:params:jmap:submission"
VACATION, QUOTA = "urn:ietf:params:jmap:vacationresponse", "urn:ietf:params:jmap:quota"
BLOB = "urn:ietf:params:jmap:blob"
USER, PASSWORD = "alice@example.org", words.planted("a password", "open-sesame-7k")
Lie = Callable[[str, dict[str, Any]], dict[str, Any]]


class JmapServer:
    """A server with one account. `token`: it wants a bearer token instead of the password."""

    def __init__(
        self,
        store: Store | None = None,
        limits: Limits | None = None,
        *,
        ranges: bool = True,
        token: str | None = None,
        account: str = "acc",
    ) -> None:
        self.store, self.limits = store or Store(), limits or Limits()
        self.account = account
        self.methods = Methods(self.store, self.limits, account)
        self.ranges, self.token = ranges, token
        self.lie: Lie = lambda _, answer: answer
        self.meanwhile: Callable[[str], None] = lambda _: None
        self.cut: Literal["before", "after"] | None = None
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.capabilities = [MAIL, SUBMISSION, VACATION, QUOTA, *([BLOB] if self.limits.blob else [])]
        self.session_changes: dict[str, Any] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        """what was asked: verb, path, headers"""
        self.called: list[list[str]] = []
        """the methods of each API request"""
        self.under_way = self.most_under_way = 0
        self.pushes = False
        """whether it tells what changes, where its session says that it does"""
        self.streams: list[asyncio.Queue[bytes | None]] = []
        self._serving: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.say(None)
        serving = dict(self._serving)
        for writer in serving.values():
            writer.close()
        await asyncio.gather(*serving, return_exceptions=True)
        await self._server.wait_closed()

    # --- HTTP ---------------------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        me = asyncio.current_task()
        assert me is not None
        self._serving[me] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *rest = head.rstrip().split("\r\n")
                verb, path, _ = line.split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.asked.append((verb, path, headers))
                if (
                    path.startswith("/jmap/events?")
                    and self.pushes
                    and headers.get("authorization") == self._expected()
                ):
                    await self._stream(writer)
                    break
                told = await self._answer(verb, path, headers, body)
                if told is None:
                    break
                status, more, octets = told
                lines = [
                    f"HTTP/1.1 {status} x",
                    f"Content-Length: {len(octets)}",
                    *(f"{k}: {v}" for k, v in more.items()),
                ]
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + octets)
                await writer.drain()
        self._serving.pop(me)
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        """Tell what happens (RFC 8620 §7.3), until a test ends it."""
        happening: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.streams.append(happening)
        writer.write(b"HTTP/1.1 200 x\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        try:
            while (told := await happening.get()) is not None:
                writer.write(told)
                await writer.drain()
        finally:
            self.streams.remove(happening)

    def tell(self, *types: str, event_id: str | None = None, account: str | None = None) -> None:
        """Tell every listener that the state of these types is the present one."""
        changed = {account or self.account: {one: str(self.store.state) for one in types}}
        told = json.dumps({"@type": "StateChange", "changed": changed})
        self.say(f"event: state\n{f'id: {event_id}' + chr(10) if event_id else ''}data: {told}\n\n".encode())

    def say(self, octets: bytes | None) -> None:
        """Put octets on every stream; None ends them."""
        for one in self.streams:
            one.put_nowait(octets)

    async def _answer(
        self, verb: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes] | None:
        if self.answers:
            return self.answers.pop(0)
        if headers.get("authorization") != self._expected():
            return 401, {}, b""
        if path == "/.well-known/jmap":
            return 302, {"Location": "/jmap/session"}, b""
        if path == "/jmap/session":
            return 200, {}, json.dumps(self._session() | self.session_changes).encode()
        if path.startswith("/jmap/blob/"):
            return self._blob(path.split("/")[4], headers.get("range"))
        if verb == "POST" and path == f"/jmap/upload/{self.account}":
            return 201, {}, json.dumps({"blobId": self.store.upload(body), "size": len(body)}).encode()
        if verb == "POST" and path == "/jmap/api":
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            await asyncio.sleep(0)
            told = self._api(body)
            self.under_way -= 1
            return told
        return 404, {}, b""

    def _expected(self) -> str:
        if self.token is not None:
            return f"Bearer {self.token}"
        return "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def _session(self) -> dict[str, Any]:
        core = {
            "maxObjectsInGet": self.limits.get,
            "maxObjectsInSet": self.limits.set,
            "maxCallsInRequest": self.limits.calls,
            "maxSizeRequest": self.limits.size,
            "maxConcurrentRequests": self.limits.requests,
            "maxSizeUpload": self.limits.upload,
        }
        return {
            "capabilities": {CORE: core, **{one: {} for one in self.capabilities}},
            "accounts": {
                self.account: {
                    "isReadOnly": False,
                    "accountCapabilities": {
                        one: {"maxSizeBlobSet": self.limits.blob} if one == BLOB else {} for one in self.capabilities
                    },
                }
            },
            "primaryAccounts": {MAIL: self.account},
            "username": USER,
            "apiUrl": "api",
            "downloadUrl": "blob/{accountId}/{blobId}/{name}?type={type}",
            "uploadUrl": "upload/{accountId}",
            "eventSourceUrl": "events?types={types}&closeafter={closeafter}&ping={ping}",
            "state": "s1",
        }

    def _blob(self, blob_id: str, span: str | None) -> tuple[int, dict[str, str], bytes]:
        octets = self.store.blob(blob_id)
        if octets is None:
            return 404, {}, b""
        if span is None or not self.ranges:
            return 200, {}, octets
        begin, _, end = span.removeprefix("bytes=").partition("-")
        if int(begin) >= len(octets):
            return 416, {}, b""
        kept = octets[int(begin) : int(end) + 1 if end else None]
        return 206, {"Content-Range": f"bytes {begin}-{int(begin) + len(kept) - 1}/{len(octets)}"}, kept

    # --- JMAP ---------------------------------------------------------------------------------------------------------

    def _api(self, body: bytes) -> tuple[int, dict[str, str], bytes] | None:
        asked = json.loads(body)
        calls = asked["methodCalls"]
        if not {CORE, MAIL} <= set(asked["using"]) <= {CORE, *self.capabilities}:
            problem = b'{"type":"urn:ietf:params:jmap:error:unknownCapability"}'
            return 400, {"Content-Type": "application/problem+json"}, problem
        self.called.append([call[0] for call in calls])
        if len(calls) > self.limits.calls or len(body) > self.limits.size:
            return 400, {"Content-Type": "application/problem+json"}, b'{"type":"urn:ietf:params:jmap:error:limit"}'
        changes = any(call[0].endswith(("/set", "/import")) for call in calls)
        if changes and self.cut == "before":
            self.cut = None
            return None
        told: list[list[Any]] = []
        self.methods.begin()
        for name, arguments, call_id in calls:
            try:
                self.meanwhile(name)
                answer = self.methods.call(name, _resolved(arguments, told))
                told.append([name, self.lie(name, answer), call_id])
            except Refusal as refusal:
                told.append(["error", {"type": str(refusal)}, call_id])
        if changes and self.cut == "after":
            self.cut = None
            return None
        return 200, {}, json.dumps({"methodResponses": told, "sessionState": "s1"}).encode()


def _resolved(arguments: dict[str, Any], told: list[list[Any]]) -> dict[str, Any]:
    """Back-references (RFC 8620 §3.7), as far as they are used."""
    found = {}
    for key, value in arguments.items():
        if not key.startswith("#"):
            found[key] = value
            continue
        source = next((one[1] for one in told if one[2] == value["resultOf"] and one[0] == value["name"]), None)
        if source is None:
            raise Refusal("invalidResultReference")
        found[key[1:]] = _pointed(source, value["path"].lstrip("/").split("/"))
    return found


def _pointed(source: Any, path: list[str]) -> Any:
    """What a path points at; `*` is every item, lists of lists made one (RFC 8620 §3.7)."""
    if not path:
        return source
    if path[0] == "*" and isinstance(source, list):
        items = [_pointed(one, path[1:]) for one in source]
        return [leaf for one in items for leaf in (one if isinstance(one, list) else [one])]
    if not isinstance(source, dict) or path[0] not in source:
        raise Refusal("invalidResultReference")
    return _pointed(source[path[0]], path[1:])
