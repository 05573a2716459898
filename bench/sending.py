"""Handing mail over: 100 small mails against smtplib with a TLS connection each, and the memory a large one takes.

    python -m bench.sending serve SIZE # the sink, in a process of its own: prints its port and certificate

The sink is one process for both sides and keeps nothing, so what differs is the client.
"""

from __future__ import annotations

import asyncio
import json
import os
import smtplib
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.submission.outlet import Outlet
from mcp_proton.imap.submission.submit import Submitting
from mcp_proton.simulator import make_certificate
from mcp_proton.testing import MemoryOctets
from tests.servers.smtp_sink import EXTENSIONS, SmtpSink, Stored

from .memory import peak
from .timing import Figure, absolute, medians, ratio

ME, TO = "alice@example.org", "bob@example.net"
MAILS = 100
BLOCK = 10
"""mails in a run: short runs of both sides in turns see the same machine"""
MEGABYTES = 10
RUNS = MAILS // BLOCK
SMALL = (
    f"From: {ME}\r\nTo: {TO}\r\nSubject: a small mail\r\nMessage-ID: <1@bench>\r\n"
    "Date: Mon, 02 Mar 2026 10:00:00 +0000\r\n\r\n" + "a line of text\r\n" * 20
).encode()


@dataclass(frozen=True)
class OnDisk:
    """A mail in a file."""

    path: Path

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    async def chunks(self) -> AsyncIterator[bytes]:
        with self.path.open("rb") as file:
            while chunk := file.read(65_536):
                yield chunk


def measure() -> list[Figure]:
    """Both, against one sink."""
    with sink() as (port, pin):
        figures = [asyncio.run(_small(port, pin))]
        done = subprocess.run(
            [sys.executable, "-m", "bench.sending", str(port), pin], capture_output=True, text=True, check=True
        )
    what = f"peak memory over idle while a mail of {MEGABYTES} MB is sent"
    return [*figures, absolute(what, json.loads(done.stdout), 40, "MiB")]


async def _small(port: int, pin: str) -> Figure:
    submitting, trusting = Submitting(_outlet(port, pin)), ssl._create_unverified_context()

    async def ours() -> None:
        for _ in range(BLOCK):
            await submitting.submit(ME, [TO], MemoryOctets(SMALL))

    def blocking() -> None:
        for _ in range(BLOCK):
            with smtplib.SMTP("127.0.0.1", port, local_hostname="[127.0.0.1]") as client:
                client.starttls(context=trusting)
                client.login("alice", "secret")
                client.sendmail(ME, [TO], SMALL)

    async def theirs() -> None:
        await asyncio.to_thread(blocking)

    mine, other = await medians(RUNS, ours, theirs)
    return ratio(
        f"{MAILS} small mails, {BLOCK} at a time, against smtplib with a TLS connection each", mine, other, 1.5
    )


async def _large(port: int, pin: str) -> float:
    """Send one small and one large mail; by how many MiB the peak rose for the large one."""
    submitting = Submitting(_outlet(port, pin))
    await submitting.submit(ME, [TO], MemoryOctets(SMALL))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mail"
        with path.open("wb") as file:
            file.write(SMALL)
            for _ in range(MEGABYTES * 1024):
                file.write((os.urandom(38).hex().encode() + b"\r\n") * 13 + b"x" * 8 + b"\r\n")
        idle = peak(reset=True)
        told = await submitting.submit(ME, [TO], OnDisk(path))
        assert told.delivery == "accepted", told
        return peak() - idle


def _outlet(port: int, pin: str) -> Outlet:
    async def password() -> str:
        return "secret"

    endpoint = Endpoint("127.0.0.1", port, TlsMode.STARTTLS, Pin.read(pin))
    return Outlet(endpoint, Credentials("alice", password))


@contextmanager
def sink(size: int = 40_000_000) -> Iterator[tuple[int, str]]:
    """Run a sink that takes mail of that many octets, in a process of its own: its port, and its certificate's pin."""
    words = [sys.executable, "-m", "bench.sending", "serve", str(size)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port, pin = process.stdout.readline().split()
            yield int(port), pin
        finally:
            process.terminate()


class _Forgetful(list[Stored]):
    def append(self, _: Stored) -> None:
        return


async def _serve(size: int) -> None:
    certificate = make_certificate()
    extensions = tuple(f"SIZE {size}" if one.startswith("SIZE") else one for one in EXTENSIONS)
    async with SmtpSink(certificate, extensions) as sink:
        sink.stored = _Forgetful()
        print(sink.port, Pin.of(ssl.PEM_cert_to_DER_cert(certificate.pem)), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve(int(sys.argv[2])))
    else:
        print(json.dumps(asyncio.run(_large(int(sys.argv[1]), sys.argv[2]))))
