"""JMAP on Cyrus: pages, a search and a walk over ids, against a blocking socket that sends the same octets and looks at no
answer."""

from __future__ import annotations

import asyncio
import base64
import socket
import tracemalloc
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All, And, Contains, Field, HasFlag, Size
from mcp_proton.domain.walk import Interval
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Credentials, Endpoint
from mcp_proton.testing.outgoing import MemoryOctets
from tests.servers.account import Account
from tests.servers.cyrus import Cyrus
from tests.servers.fixtures import running

from .places import letters
from .timing import Figure, absolute, medians, ratio

MESSAGES = 50_000
PART = 500
"""ids that one request of a walk asks for"""


def measure() -> list[Figure]:
    """Run it. Filling Cyrus takes minutes."""
    with running(Cyrus) as server:
        account = server.account()
        account.load(letters(MESSAGES))
        return asyncio.run(_measured(account))


async def _measured(account: Account) -> list[Figure]:
    async def password() -> str:
        return account.password

    url = f"http://{account.host}:{account.jmap_port}"
    backend = JmapBackend("bench", Endpoint(url), Credentials(account.username, password))
    raw = Raw(url, account.username, account.password)
    try:
        inbox = next(box for box in await backend.mailboxes() if box.role is Role.INBOX)
        figures = [await _page(backend, raw, inbox, count) for count in (50, 499)]
        figures.append(await _walk(backend, raw, inbox))
        figures.append(await _memory(backend, inbox))
        figures.append(await _search(backend, raw, inbox))
        return figures + await _requests(backend, inbox)
    finally:
        raw.close()
        await backend.aclose()


async def _page(backend: JmapBackend, raw: Raw, inbox: Mailbox, count: int) -> Figure:
    async def ours() -> None:
        assert len((await backend.search([inbox], All(), Page(count))).rows) == count

    mine, floor = await medians(7, ours, raw.again(await _sent(backend, ours)), calls=5)
    return ratio(f"Cyrus JMAP: page of {count} envelopes against one raw HTTP request", mine, floor, 2)


async def _walk(backend: JmapBackend, raw: Raw, inbox: Mailbox) -> Figure:
    async def ours() -> None:
        at = 0
        while True:
            part = await backend.ids(inbox, Interval(), at, PART)
            at += len(part.handles)
            if not part.more:
                assert at == MESSAGES
                return

    mine, floor = await medians(1, ours, raw.again(await _sent(backend, ours)))
    return ratio(f"Cyrus JMAP: walk over {MESSAGES} ids against the same requests raw", mine, floor, 1.5)


async def _memory(backend: JmapBackend, inbox: Mailbox) -> Figure:
    """What a walk holds at most, beyond what it holds after its first tenth."""
    peaks = []
    tracemalloc.start()
    try:
        for most in (MESSAGES // 10, MESSAGES):
            tracemalloc.reset_peak()
            before, at = tracemalloc.get_traced_memory()[0], 0
            while at < most:
                at += len((await backend.ids(inbox, Interval(), at, PART)).handles)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    grown = max(0, peaks[1] - peaks[0]) / (1 << 20)
    return absolute(
        f"Cyrus JMAP: memory of a walk over {MESSAGES} ids beyond that over a tenth of them", grown, 0.5, "MiB"
    )


async def _search(backend: JmapBackend, raw: Raw, inbox: Mailbox) -> Figure:
    async def ours() -> None:
        found = await backend.search([inbox], Contains(Field.FROM, "needle@rare"), Page(500, budget=600))
        assert len(found.rows) == 100

    mine, floor = await medians(1, ours, raw.again(await _sent(backend, ours)))
    return ratio(f"Cyrus JMAP: search by sender over {MESSAGES}, decided here, against the same raw", mine, floor, 1.5)


async def _requests(backend: JmapBackend, inbox: Mailbox) -> list[Figure]:
    row = (await backend.search([inbox], All(), Page(1))).rows[0]
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "list of 50": lambda: backend.search([inbox], All(), Page(50)),
        "search by flag and size": lambda: backend.search([inbox], And((HasFlag("flagged"), Size(10))), Page(50)),
        "structure of a message": lambda: backend.structure(row.handle),
        "conversation of a message": lambda: backend.powers.conversation(row.handle, [inbox]),
        "envelopes of a few": lambda: backend.envelopes([row.handle]),
        "a mail handed over and seen in Sent": lambda: _handed_over(backend),
    }
    await backend.identities()
    figures = []
    for name, act in acts.items():
        await backend.mailboxes(fresh=True)
        before = backend.web.requests
        await act()
        figures.append(absolute(f"Cyrus JMAP: HTTP requests, {name}", backend.web.requests - before, 2, ""))
    return figures


async def _handed_over(backend: JmapBackend) -> None:
    assert backend.submits is not None
    text = MemoryOctets(
        b"From: me@example.org\r\nTo: bob@example.net\r\nMessage-ID: <bench@example.org>\r\n\r\nHi.\r\n"
    )
    told = await backend.submits.submit("me@example.org", ["bob@example.net"], text)
    assert told.sent is not None


async def _sent(backend: JmapBackend, act: Callable[[], Awaitable[object]]) -> list[bytes]:
    """The bodies an act sends."""
    bodies: list[bytes] = []
    post = backend.web.post

    async def spied(url: str, body: bytes, most: int, **more: object) -> bytes:
        bodies.append(body)
        return await post(url, body, most, **more)  # type: ignore[arg-type]

    backend.web.post = spied  # type: ignore[method-assign]
    try:
        await act()
    finally:
        backend.web.post = post  # type: ignore[method-assign]
    return bodies


class Raw:
    """One kept connection. What it sends is what we send, the answer is read to its end and thrown away."""

    def __init__(self, url: str, username: str, password: str) -> None:
        split = urlsplit(url)
        self._socket = socket.create_connection((split.hostname, split.port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        token = base64.b64encode(f"{username}:{password}".encode()).decode()
        self._head = (
            f"POST /jmap/ HTTP/1.1\r\nHost: {split.netloc}\r\nAuthorization: Basic {token}\r\n"
            "Accept-Encoding: gzip\r\nContent-Type: application/json\r\n"
        )

    def again(self, bodies: list[bytes]) -> Callable[[], Awaitable[None]]:
        """What sends these, one after the other."""

        async def run() -> None:
            for body in bodies:
                self._request(body)

        return run

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _request(self, body: bytes) -> None:
        self._socket.sendall(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        held = b""
        while b"\r\n\r\n" not in held:
            held += self._socket.recv(262_144)
        head, _, rest = held.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            while not rest.endswith(b"0\r\n\r\n"):
                rest = rest[-16:] + self._socket.recv(262_144)
            return
        left = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) - len(rest)
        while left > 0:
            left -= len(self._socket.recv(262_144))
