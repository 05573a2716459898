"""COMPRESS=DEFLATE (RFC 4978): the same answers in fewer octets, and a bomb that costs nothing."""

from __future__ import annotations

import asyncio
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.opening import open_session
from mcp_proton.imap.protocol.pool import Habits, Pool
from mcp_proton.imap.protocol.uids import UidSet
from tests.unit.imap.scripted import CREDENTIALS, IDENTITY, QUICK, Talk, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.imap.protocol.session import Session
    from tests.servers.account import Account

CAPABILITIES = b"IMAP4rev1 COMPRESS=DEFLATE"


class Held:
    """A message in memory, as it goes on the wire."""

    def __init__(self, mail: bytes) -> None:
        self._mail, self.size = mail, len(mail)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._mail


async def _login(account: Account) -> str:
    return account.password


def pool(account: Account, tls: TlsMode, *, packed: bool) -> Pool:
    port = account.imaps_port if tls is TlsMode.IMPLICIT else account.imap_port
    pin = None if tls is TlsMode.PLAIN else Pin.read(account.certificate_sha256)
    place = Endpoint(account.host, port, tls, pin, plain_to_this_machine=tls is TlsMode.PLAIN)
    login = Credentials(account.username, lambda: _login(account))
    return Pool(place, login, identity=IDENTITY, habits=Habits(packed=packed))


def letter(number: int, size: int = 0) -> bytes:
    return b"Subject: %d\r\nFrom: a@example.org\r\nMessage-ID: <%d@x>\r\n\r\n%b\r\n" % (number, number, b"word " * size)


@pytest.mark.parametrize("tls", [TlsMode.IMPLICIT, TlsMode.PLAIN])
async def test_packed_answers_are_the_same_on_a_real_server(dovecot: Account, tls: TlsMode) -> None:
    """Pages, large literals, an upload, and many rows, with TLS and without."""
    dovecot.load(letter(number) for number in range(400))
    dovecot.load([letter(1, 400_000)], "Large")
    found = []
    for packed in (False, True):
        async with pool(dovecot, tls, packed=packed) as made:
            async with made.session() as session:
                assert session.connection.wire.packed is packed
            async with made.reading("INBOX") as box:
                rows = await box.fetch_all(UidSet.since(1), Items(flags=True, envelope=True))
                uids = await box.search()
            async with made.reading("Large") as box:
                (large,) = await box.fetch_all([1], Items(sections=("",)))
            found.append((rows, uids, large))
    assert found[0] == found[1]
    assert len(found[1][0]) == 400


async def test_only_a_server_elsewhere_is_asked_to_pack_unless_one_says_otherwise() -> None:
    async with serving(capabilities=CAPABILITIES) as server:
        session = await open_session(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK)
        session.close()
        assert not server.commands(b"COMPRESS")


async def test_a_server_that_refuses_to_pack_is_talked_to_all_the_same() -> None:
    async with serving({b"COMPRESS": b"@TAG@ NO [COMPRESSIONACTIVE] no\r\n"}, capabilities=CAPABILITIES) as server:
        session = await open_session(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK, packed=True)
        await session.noop()
        session.close()


async def packed_session(after: bytes, limits: Limits | None = None) -> Session:
    """A session whose server sends these octets after its OK to COMPRESS, in the same packet."""

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        talk.writer.write(tag + b" OK packed\r\n" + after)
        await talk.writer.drain()
        await asyncio.sleep(30)

    async with serving({b"COMPRESS": answer}, capabilities=CAPABILITIES) as server:
        session = await open_session(
            server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK, limits=limits, packed=True
        )
        for _ in range(400):
            if session.ended is not None:
                break
            await asyncio.sleep(0.01)
        session.close()
        return session


def deflated(data: bytes) -> bytes:
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return made.compress(data) + made.flush(zlib.Z_SYNC_FLUSH)


async def test_a_bomb_ends_the_connection_and_takes_no_memory() -> None:
    """64 MiB without a line end, in 64 KiB."""
    bomb = deflated(b"* " + b"a" * (64 << 20))
    assert len(bomb) < 80_000
    tracemalloc.start()
    try:
        session = await packed_session(bomb, Limits(line=1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(session.ended, LimitExceeded)
    assert peak < 16 << 20


async def test_a_bomb_of_lines_nobody_asked_for_ends_too() -> None:
    session = await packed_session(deflated(b"* 1 EXISTS\r\n" * 2_000_000), Limits(unasked=1_000))
    assert isinstance(session.ended, LimitExceeded)


@pytest.mark.parametrize("after", [b"* plain text\r\n" * 20, b"\xff" * 100, zlib.compressobj(9, 8, -15).flush()])
async def test_what_cannot_be_unpacked_ends_the_connection(after: bytes) -> None:
    session = await packed_session(after)
    assert isinstance(session.ended, ProtocolViolation)


async def test_what_came_with_the_ok_is_unpacked_too() -> None:
    session = await packed_session(deflated(b"* BYE so soon\r\n"))
    assert session.ended is not None
    assert "goodbye" in session.ended.message


async def test_an_upload_is_packed_and_stored_whole(dovecot: Account) -> None:
    mail = letter(1, 300_000)
    place = Endpoint(dovecot.host, dovecot.imap_port, TlsMode.PLAIN, plain_to_this_machine=True)
    login = Credentials(dovecot.username, lambda: _login(dovecot))
    backend = ImapBackend("me", place, login, sessions=Habits(packed=True))
    try:
        box = next(one for one in await backend.mailboxes() if one.path == "INBOX")
        handle = await backend.append(box, Held(mail))
        read = b"".join([piece async for piece in backend.fetch(handle)])
    finally:
        await backend.aclose()
    assert read == mail
