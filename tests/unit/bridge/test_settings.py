"""Finding a Bridge at set-up: ports, version and fingerprint, without a password."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_proton.bridge import settings
from mcp_proton.bridge.trying.evidence import RECORDED
from mcp_proton.imap.login.endpoint import Pin, TlsMode
from mcp_proton.simulator import Simulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((settings.LOOPBACK, 0))
        port: int = taken.getsockname()[1]
        return port


@asynccontextmanager
async def speaking(*lines: bytes) -> AsyncIterator[int]:
    """Something that says these lines to whoever connects."""

    writers: list[asyncio.StreamWriter] = []

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.writelines(lines)

    server = await asyncio.start_server(speak, settings.LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@pytest.mark.parametrize("implicit", [False, True])
async def test_a_bridge_is_found_with_its_version_and_certificate(implicit: bool) -> None:
    async with (
        Simulator(implicit_tls=implicit) as simulator,
        speaking(b"220 127.0.0.1 ESMTP Service Ready\r\n") as smtp,
    ):
        found = await settings.find(
            imap_ports=[free_port(), simulator.imap_port], smtp_ports=[free_port(), smtp], patience=0.5
        )
        assert [(one.imap_port, one.smtp_port) for one in found] == [(simulator.imap_port, smtp)]
        assert found[0].pin == Pin.of(ssl.PEM_cert_to_DER_cert(simulator.certificate_pem))
        assert found[0].tls is (TlsMode.IMPLICIT if implicit else TlsMode.STARTTLS)
        assert found[0].version == (None if implicit else RECORDED)
        assert found[0].endpoint.pin == found[0].pin


async def test_what_is_no_imap_server_with_tls_is_left_out() -> None:
    async with speaking(b"HTTP/1.1 400 Bad Request\r\n") as web, speaking(b"* OK plain only\r\n") as bare:
        assert await settings.find(imap_ports=[web, bare, free_port()], smtp_ports=[], patience=0.3) == []


async def test_an_endless_greeting_is_not_read_on() -> None:
    async with speaking(b"x" * 100_000) as flood:
        assert await settings.look(settings.LOOPBACK, flood, patience=0.3) is None
