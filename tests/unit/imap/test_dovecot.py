"""The client against a real server: Dovecot, over TLS with its certificate pinned."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from mcp_proton.domain.errors import AuthFailed, NotFound, Untrusted
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.codes import CopyUid
from mcp_proton.imap.protocol.commands import Move, Store
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.opening import fetch_certificate, open_session
from mcp_proton.imap.protocol.pool import Pool
from mcp_proton.imap.protocol.responses import Exists
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.protocol.writer import Atom
from tests.servers.account import Account
from tests.unit.imap.scripted import IDENTITY

pytestmark = pytest.mark.server
EVERYTHING = Items(
    flags=True, internaldate=True, size=True, envelope=True, structure=True, sections=("", "HEADER", "1")
)


def message(number: int) -> bytes:
    return (
        f"From: =?utf-8?q?J=C3=BCrgen?= <juergen{number}@example.org>\r\nTo: Crew: a@x.test, b@y.test;\r\n"
        f'Subject: Nr. {number} "quoted" \\ Straße\r\nDate: Mon, 02 Jan 2023 10:00:00 +0000\r\n'
        f"Message-ID: <m{number}@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        "--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n--b\r\n"
        "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninside\r\n--b--\r\n"
    ).encode()


def endpoint(account: Account, mode: TlsMode = TlsMode.STARTTLS, pin: str | None = None) -> Endpoint:
    port = account.imaps_port if mode is TlsMode.IMPLICIT else account.imap_port
    return Endpoint(account.host, port, mode, Pin.read(pin or account.certificate_sha256))


def credentials(account: Account, password: str | None = None) -> Credentials:
    async def secret() -> str:
        return password or account.password

    return Credentials(account.username, secret)


@pytest.fixture
async def pool(dovecot: Account) -> AsyncIterator[Pool]:
    async with Pool(endpoint(dovecot), credentials(dovecot), identity=IDENTITY) as opened:
        yield opened


async def test_everything_of_a_page_is_read(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(number) for number in range(1, 61)])
    async with pool.reading("INBOX") as box:
        assert (box.exists, box.uidnext) == (60, 61)
        page = await box.fetch_all(range(1, 51), EVERYTHING)
    assert [row.uid for row in page] == list(range(1, 51))
    first = page[0]
    assert first.envelope is not None
    assert first.envelope.subject == 'Nr. 1 "quoted" \\ Straße'.encode()
    assert {person.group for person in first.envelope.to} == {b"Crew"}
    assert first.bodystructure is not None
    assert [part.path for part in first.bodystructure.walk()] == ["", "1", "2", "2.1"]
    assert first.internaldate is not None
    assert first.sections[""] == message(1)
    assert first.size == len(message(1))
    assert first.sections["1"] == b"hello"
    assert "\\Seen" not in (first.flags or ())


async def test_nothing_is_marked_read_by_looking(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(1)])
    async with pool.reading("INBOX") as box:
        await box.fetch_all([1], EVERYTHING)
        assert b"".join([piece async for piece in box.stream(1, step=50)]) == message(1)
        assert list(await box.search(Atom("UNSEEN"))) == [1]


async def test_search_finds_by_text_beyond_ascii_and_by_sets(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(number) for number in range(1, 30)])
    async with pool.reading("INBOX") as box:
        assert len(await box.search(Atom("SUBJECT"), "Straße")) == 29
        assert list(await box.search(Atom("UID"), UidSet.of([3, 4, 90]), Atom("FROM"), "juergen3@")) == [3]
        both = await box.pipeline([box.searching(Atom("UID"), UidSet.window(1, 2)), box.searching(Atom("SEEN"))])
        assert [list(found) for found in both if not isinstance(found, Exception)] == [[1, 2], []]


@pytest.mark.parametrize("step", [None, 100_000])
async def test_a_large_message_is_streamed_byte_for_byte(dovecot: Account, pool: Pool, step: int | None) -> None:
    body = b"Subject: large\r\n\r\n" + b"".join(b"line %d\r\n" % number for number in range(200_000))
    dovecot.load([body])
    async with pool.reading("INBOX") as box:
        assert b"".join([piece async for piece in box.stream(1, step=step)]) == body
        async for _piece in box.stream(1, step=step):
            break
    async with pool.reading("INBOX") as box:
        assert b"".join([piece async for piece in box.stream(1, "TEXT", 5, 70_000, step=step)]) == body[23:70_023]


async def test_a_walk_over_many_rows_is_complete(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(number) for number in range(1, 501)])
    async with pool.reading("INBOX") as box:
        assert [row.uid async for row in box.fetch(UidSet.since(1), Items(flags=True, envelope=True))] == list(
            range(1, 501)
        )
        odd = list(range(1, 501, 2))
        assert [row.uid async for row in box.fetch(odd, Items(sections=("1",)))] == odd


async def test_mailboxes_and_their_counts_are_listed(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(1)], "Entw&APw-rfe")
    entries, counts = await pool.list(status=["MESSAGES", "UIDNEXT"])
    names = {entry.name: entry.wire for entry in entries}
    assert {"INBOX", "Entwürfe"} <= set(names)
    assert getattr(counts[names["Entwürfe"]], "items", None) == {"MESSAGES": 1, "UIDNEXT": 2}
    async with pool.reading("Entwürfe") as box:
        assert box.exists == 1
    with pytest.raises(NotFound):
        async with pool.reading("Nowhere"):
            pass


async def test_a_move_says_where_it_went(dovecot: Account, pool: Pool) -> None:
    dovecot.load([message(1), message(2)])
    dovecot.load([], "Elsewhere")
    async with pool.writing("INBOX") as box:
        await box.run(Store(UidSet.of([2]), ["\\Flagged"], add=True))
        places = await box.run(Move(UidSet.of([1, 2]), "Elsewhere"))
    assert isinstance(places, CopyUid)
    async with pool.reading("Elsewhere", uidvalidity=places.uidvalidity) as box:
        rows = await box.fetch_all(places.pairs().values(), Items(flags=True))
    assert ["\\Flagged" in (row.flags or ()) for row in rows] == [False, True]


async def test_new_mail_is_told_to_a_watcher(dovecot: Account, pool: Pool) -> None:
    async with pool.watching("INBOX") as watch:
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(dovecot.load, [message(1)])
        async with pool.session() as session:
            await session.run(commands.StatusOf("INBOX", ["MESSAGES"]))
        assert await asyncio.wait_for(waiting, 20) == Exists(1)


@pytest.mark.parametrize("mode", [TlsMode.STARTTLS, TlsMode.IMPLICIT])
async def test_trust_and_login_are_judged_in_this_order(dovecot: Account, mode: TlsMode) -> None:
    shown = await fetch_certificate(endpoint(dovecot, mode))
    assert str(Pin.of(shown)) == f"sha256:{dovecot.certificate_sha256}"
    session = await open_session(endpoint(dovecot, mode), credentials(dovecot), identity=IDENTITY)
    await session.goodbye()
    with pytest.raises(Untrusted):
        await open_session(endpoint(dovecot, mode, "00" * 32), credentials(dovecot), identity=IDENTITY)
    with pytest.raises(AuthFailed):
        await open_session(endpoint(dovecot, mode), credentials(dovecot, "wrong"), identity=IDENTITY)
