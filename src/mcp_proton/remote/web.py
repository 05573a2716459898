"""Guarded: one https address → its octets, or a refusal before anything is sent (J-110, J-111).

The name is resolved once; one address that is not public refuses all. What was checked is what is connected to; the
certificate is checked for the name. No redirect, proxy of the environment, cookie, packing or second try.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from mcp_proton.domain.errors import OutOfBounds
from mcp_proton.domain.remote import RemoteFile
from mcp_proton.remote import guard
from mcp_proton.remote.errors import border, of_status, too_large, unavailable
from mcp_proton.remote.naming import kind, named

if TYPE_CHECKING:
    import ssl

    from mcp_proton.domain.web_address import WebAddress

CHUNK = 64 << 10
MOST_TRIED = 4
SILENCE = 10.0
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]


class Guarded:
    """Fetches files from the public internet.

    `most` octets and `seconds` bound one file. `resolve`, `permitted`, `ports` and `trust` are for a world without one.
    """

    def __init__(
        self,
        *,
        most: int,
        seconds: float,
        resolve: Resolver | None = None,
        permitted: Callable[[str], bool] = guard.public,
        ports: Collection[int] = guard.PORTS,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._most, self._seconds = most, seconds
        self._resolve = resolve or resolved
        self._permitted, self._ports = permitted, ports
        self._trust = trust

    @asynccontextmanager
    async def open(self, address: WebAddress, most: int) -> AsyncIterator[RemoteFile]:
        """Ask for a file; see the port."""
        most = min(most, self._most)
        if address.port not in self._ports:
            raise OutOfBounds("files are fetched from the usual https ports only", code="port_not_allowed")
        with border(self._seconds):
            async with asyncio.timeout(self._seconds):
                places = await self._checked(address)
                async with self._client() as client:
                    answer = await _asked(client, address, places)
                    try:
                        yield _file(answer, address, most)
                    finally:
                        await answer.aclose()

    async def _checked(self, address: WebAddress) -> Sequence[str]:
        """Return where the host is. INVARIANT: it is looked up once, and nothing else is connected to."""
        try:
            found = list(dict.fromkeys(await self._resolve(address.host, address.port)))
        except OSError:
            raise unavailable("there is no such host, or it cannot be looked up") from None
        if not found:
            raise unavailable("there is no such host")
        if not all(map(self._permitted, found)):
            raise OutOfBounds(
                "this address is not of the public internet, and nothing was asked of it",
                code="address_not_public",
                next="give a public address",
            )
        return found[:MOST_TRIED]

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={"User-Agent": "mcp-proton", "Accept": "*/*", "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(SILENCE),
            verify=self._trust or True,
            follow_redirects=False,
            trust_env=False,
            http2=False,
        )


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


async def _asked(client: httpx2.AsyncClient, address: WebAddress, places: Sequence[str]) -> httpx2.Response:
    """Ask at the first place that can be connected to."""
    for number, place in enumerate(places, start=1):
        url = httpx2.URL(scheme="https", host=place, port=address.port, raw_path=address.target.encode())
        request = client.build_request(
            "GET", url, headers={"Host": address.authority}, extensions={"sni_hostname": address.host}
        )
        try:
            return await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if number == len(places):
                raise
    raise unavailable("there is no such host")


def _file(answer: httpx2.Response, address: WebAddress, most: int) -> RemoteFile:
    if answer.status_code != 200:
        raise of_status(answer.status_code)
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise unavailable("its server packs it in a way that was not asked for")
    size = _size(answer)
    if size is not None and size > most:
        raise too_large(most)
    filename = named(answer.headers.get("content-disposition"), address)
    return RemoteFile(filename, kind(answer.headers.get("content-type"), filename), size, _chunks(answer, most))


def _size(answer: httpx2.Response) -> int | None:
    """Return how many octets are announced. Where a file could end anywhere, nobody would know that it is whole."""
    said = answer.headers.get("content-length", "")
    if "chunked" in answer.headers.get("transfer-encoding", "").lower():
        return None
    if not (said.isascii() and said.isdigit() and len(said) < 20):
        raise unavailable("its server does not say where it ends")
    return int(said)


async def _chunks(answer: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in answer.aiter_raw(CHUNK):
        size += len(chunk)
        if size > most:
            raise too_large(most)
        yield chunk
