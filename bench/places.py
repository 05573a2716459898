"""The servers that are measured, each in a process of its own: Dovecot, Proton's IMAP engine, and the simulator."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp_proton.bridge.backend import BridgeBackend
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.simulator import GivenMessage, GivenUser
from tests.servers import gluon_server
from tests.servers.account import Account
from tests.servers.dovecot import Dovecot
from tests.servers.fixtures import running
from tests.servers.mail import Mail

from .raw import RawClient

WORDS = ("budget", "garden", "museum", "ticket", "lecture", "kitchen", "harbour", "window", "market", "river")


@dataclass(frozen=True)
class Place:
    """A server with a mailbox to measure on."""

    name: str
    raw: Callable[[], RawClient]
    backend: Callable[[], ImapBackend]
    host: str
    port: int
    username: str
    password: str
    starttls: bool
    role: Role = Role.INBOX
    mailbox: bytes = b"INBOX"

    async def box(self, backend: ImapBackend) -> Mailbox:
        """Return the mailbox to measure on."""
        return next(box for box in await backend.mailboxes() if box.role is self.role)


def letters(count: int, *, size: int = 0, needles: int = 100) -> Iterator[Mail]:
    """Yield plain messages, oldest first; `needles` of them, spread evenly, come from one rare sender."""
    choose = random.Random(7)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for number in range(count):
        when = start + timedelta(minutes=20 * number)
        sender = (
            "needle@rare.example"
            if needles and number % (count // needles or 1) == 0
            else f"{choose.choice(WORDS)}@example.org"
        )
        subject = " ".join(choose.choices(WORDS, k=4))
        text = " ".join(choose.choices(WORDS, k=60)) + ("\r\nquitespecialword" if number == count // 2 else "")
        filler = ("\r\n" + "x" * 76) * (size // 78) if size else ""
        yield Mail(
            (
                f"From: {choose.choice(WORDS).title()} Person <{sender}>\r\nTo: Me <me@example.org>\r\nSubject: {subject}\r\n"
                f"Date: {when:%a, %d %b %Y %H:%M:%S +0000}\r\nMessage-ID: <{number}.{size}@bench.example>\r\n"
                f"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}{filler}\r\n"
            ).encode(),
            arrived=when,
        )


def mixed(count: int) -> Iterator[Mail]:
    """Yield messages as a mailbox has them: most of some kilobytes, some large, 40 to 50 KB on average."""
    choose = random.Random(5)
    for mail in letters(count):
        lines = min(1_400_000, int(choose.lognormvariate(9.9, 1.3))) // 76
        yield Mail(mail.raw + b"".join(b"%074d\r\n" % number for number in range(lines)), arrived=mail.arrived)


def big(megabytes: int) -> bytes:
    """Return a message with one attachment of about that size."""
    line = b"QUJD" * 19 + b"\r\n"
    body = line * (megabytes * 1024 * 1024 // len(line))
    return (
        b"From: a@example.org\r\nTo: me@example.org\r\nSubject: Large\r\n"
        b"Message-ID: <big@bench.example>\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n--b\r\n'
        b'Content-Type: application/octet-stream; name="large.bin"\r\nContent-Transfer-Encoding: base64\r\n'
        b'Content-Disposition: attachment; filename="large.bin"\r\n\r\n' + body + b"--b--\r\n"
    )


@contextmanager
def dovecot(capabilities: str | None = None) -> Iterator[Callable[[Iterator[Mail]], Place]]:
    """Run Dovecot, which says that it can all it can, or only this; yields what makes a mailbox holding some mail."""
    with running(lambda folder: Dovecot(folder, capabilities=capabilities)) as server:

        def made(mails: Iterator[Mail]) -> Place:
            account = server.account()
            account.load(mails)
            return _of_account(account)

        yield made


def _of_account(account: Account) -> Place:
    async def password() -> str:
        return account.password

    endpoint = Endpoint(account.host, account.imap_port, TlsMode.PLAIN, plain_to_this_machine=True)
    return Place(
        "Dovecot",
        lambda: RawClient(account.host, account.imap_port, account.username, account.password, starttls=False),
        lambda: ImapBackend("bench", endpoint, Credentials(account.username, password)),
        account.host,
        account.imap_port,
        account.username,
        account.password,
        starttls=False,
    )


@contextmanager
def engine(mails: Iterator[Mail]) -> Iterator[Place]:
    """Run Proton's IMAP engine with this mail in INBOX: a database and a file a message underneath, as in Bridge."""
    given = [GivenMessage(mail.raw, time=mail.arrived.timestamp(), origin="imported") for mail in mails]
    user = GivenUser("bench", ["bench@proton.local"], messages=given)
    with gluon_server.running() as server, server.bridge([user]) as gluon:

        async def password() -> str:
            return gluon.password

        endpoint = Endpoint(gluon.host, gluon.imap_port, TlsMode.STARTTLS, Pin.read(gluon.certificate_sha256))
        yield Place(
            "Proton's engine",
            lambda: RawClient(gluon.host, gluon.imap_port, gluon.username, gluon.password, starttls=True),
            lambda: BridgeBackend("bench", endpoint, Credentials(gluon.username, password)),
            gluon.host,
            gluon.imap_port,
            gluon.username,
            gluon.password,
            starttls=True,
        )


@contextmanager
def simulator(count: int) -> Iterator[Place]:
    """Run the simulator in its own process with a made-up mailbox of `count` messages."""
    program = Path(sys.executable).with_name("mcp-proton")
    command = [str(program), "simulator", "run", "--messages", str(count), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())

            async def password() -> str:
                return str(told["password"])

            endpoint = Endpoint(told["host"], told["imap_port"], TlsMode.STARTTLS, Pin.read(told["certificate"]))
            yield Place(
                "simulator",
                lambda: RawClient(told["host"], told["imap_port"], told["username"], told["password"], starttls=True),
                lambda: BridgeBackend("bench", endpoint, Credentials(told["username"], password)),
                told["host"],
                told["imap_port"],
                told["username"],
                told["password"],
                starttls=True,
                role=Role.ALL,
                mailbox=b'"All Mail"',
            )
        finally:
            process.terminate()
