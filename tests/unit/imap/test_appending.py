"""APPEND: streamed, sent once, and what a lost or odd answer means (A-45)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Ambiguous, Defect, Invalid, MailError, NotFound, OverLimit, Unavailable
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.imap import keys
from mcp_proton.imap.changing.appending import Appending
from mcp_proton.imap.protocol.pool import Pool
from mcp_proton.testing import MemoryOctets
from tests.contract.letters_out import mail
from tests.unit.imap.scripted import CAPABILITIES, CREDENTIALS, IDENTITY, OK, QUICK, ScriptedServer, Talk, mailbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.handles import Handle
    from tests.unit.imap.scripted import Reply

BOX = Mailbox("me", "Work", "Work", Role.FOLDER)
LARGE = b"x" * 70 + b"\r\n"
STORED = b"@TAG@ OK [APPENDUID 7 42] stored\r\n"


@asynccontextmanager
async def appending(
    replies: dict[bytes, Reply], *, capabilities: bytes = CAPABILITIES
) -> AsyncIterator[tuple[ScriptedServer, Appending]]:
    server = ScriptedServer(replies, capabilities=capabilities)
    await server.start()
    pool = Pool(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK)
    try:
        yield server, Appending(lambda: pool)
    finally:
        await pool.aclose()
        await server.stop()


async def append(to: Appending, text: MemoryOctets, *, flags: frozenset[str] = frozenset()) -> Handle:
    return await to.append(BOX, text, flags, datetime(2026, 3, 2, 4, 5, 6, tzinfo=UTC))


@pytest.mark.parametrize("capabilities", [CAPABILITIES, CAPABILITIES + b" LITERAL+", CAPABILITIES + b" LITERAL-"])
@pytest.mark.parametrize("lines", [1, 20_000])
async def test_a_message_arrives_octet_for_octet_whatever_literals_the_server_takes(
    lines: int, capabilities: bytes
) -> None:
    text = mail("a@b.c", body="x" * 70 + "\r\n" + ("y" * 70 + "\r\n") * lines)
    async with appending({b"APPEND": STORED}, capabilities=capabilities) as (server, to):
        handle = await append(to, text, flags=frozenset({"seen", "draft"}))
        (command,) = server.commands(b"APPEND")
    head, _, rest = command.partition(b"}\r\n")
    assert head.startswith(rb'APPEND "Work" (\Draft \Seen) " 2-Mar-2026 04:05:06 +0000" {')
    assert rest == text.raw
    small = len(text.raw) <= 4_096
    assert head.endswith(b"+") is (b"LITERAL+" in capabilities or b"LITERAL-" in capabilities) & small
    assert keys.read(handle.key) == (7, 42)


class Early(ScriptedServer):
    """Answers APPEND before it has asked for the literal; without an answer it hangs up."""

    answer = b""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = Talk(reader, writer, 0)
        self.talks.append(talk)
        await talk.say(self.greeting)
        while line := await reader.readline():
            tag, _, rest = line.partition(b" ")
            self.received.append(rest)
            if not rest.startswith(b"APPEND"):
                await self._answer(talk, tag, rest.rstrip())
            elif self.answer:
                await talk.say(self.answer, tag)
            else:
                await talk.hang_up()


@pytest.mark.parametrize(
    ("answer", "error"), [(b"@TAG@ NO [OVERQUOTA] full\r\n", OverLimit), (b"", Unavailable)], ids=["refused", "lost"]
)
async def test_what_is_answered_before_the_literal_costs_no_upload_and_is_a_no(
    answer: bytes, error: type[MailError]
) -> None:
    server = Early()
    server.answer = answer
    await server.start()
    pool = Pool(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK)
    try:
        with pytest.raises(error):
            await append(Appending(lambda: pool), mail("a@b.c"))
    finally:
        await pool.aclose()
        await server.stop()
    assert not [one for one in server.received if one.startswith(b"From")]


async def test_a_connection_lost_after_the_last_octet_leaves_it_unknown() -> None:
    async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.hang_up()

    async with appending({b"APPEND": hang_up}) as (server, to):
        with pytest.raises(Ambiguous):
            await append(to, mail("a@b.c"))
        assert len(server.commands(b"APPEND")) == 1


@pytest.mark.parametrize("less", [-1, 1, 100])
async def test_octets_that_are_not_as_many_as_announced_are_not_stored(less: int) -> None:
    class Wrong(MemoryOctets):
        @property
        def size(self) -> int:
            return len(self.raw) - less

    async with appending({b"APPEND": STORED}) as (server, to):
        with pytest.raises(Defect):
            await append(to, Wrong(mail("a@b.c").raw))
        # The connection is of no use after that; the next one is.
        assert await append(to, mail("a@b.c"))
        assert len(server.commands(b"APPEND")) == 1


async def test_octets_that_cannot_be_read_to_their_end_are_not_stored() -> None:
    class Torn(MemoryOctets):
        reads = 0

        async def chunks(self) -> AsyncIterator[bytes]:
            Torn.reads += 1
            yield self.raw[:20]
            if Torn.reads > 1:
                raise OSError("the disk")
            yield self.raw[20:]

    async with appending({b"APPEND": STORED}) as (server, to):
        with pytest.raises(Unavailable):
            await append(to, Torn(mail("a@b.c").raw))
        assert server.commands(b"APPEND") == []


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        (b"@TAG@ NO [TRYCREATE] gone\r\n", NotFound, "no_such_mailbox"),
        (b"@TAG@ NO [TOOBIG] no\r\n", OverLimit, "too_large"),
        (b"@TAG@ NO [OVERQUOTA] no\r\n", OverLimit, "over_quota"),
        (b"@TAG@ NO nothing\r\n", MailError, "server_refused"),
    ],
)
async def test_a_refusal_is_told_in_our_words(answer: bytes, error: type[MailError], code: str) -> None:
    async with appending({b"APPEND": answer}) as (_, to):
        with pytest.raises(error) as raised:
            await append(to, mail("a@b.c"))
        assert raised.value.code == code


async def test_a_limit_the_server_names_is_kept_before_anything_is_sent() -> None:
    async with appending({b"APPEND": STORED}, capabilities=CAPABILITIES + b" APPENDLIMIT=100") as (server, to):
        with pytest.raises(OverLimit, match="100"):
            await append(to, mail("a@b.c"))
        assert server.commands(b"APPEND") == []


def shown(uid: int, message_id: bytes) -> bytes:
    return b'* 1 FETCH (UID %d ENVELOPE (NIL "s" %b"%b"))\r\n' % (uid, b"NIL " * 7, message_id)


async def test_without_uidplus_it_is_found_by_its_id_among_what_came_since() -> None:
    text = mail("a@b.c", message_id="<mine@x>")
    replies: dict[bytes, Reply] = {
        b"APPEND": OK,
        b"EXAMINE": mailbox(exists=1, uidnext=5),
        b"SELECT": mailbox(exists=3, uidnext=7),
        b"UID FETCH 5:*": shown(5, b"<other@x>") + shown(6, b"<mine@x>") + OK,
    }
    async with appending(replies, capabilities=b"IMAP4rev1") as (_, to):
        assert keys.read((await append(to, text)).key) == (1, 6)


async def test_without_uidplus_two_that_bear_its_id_leave_open_which_it_is() -> None:
    replies: dict[bytes, Reply] = {
        b"APPEND": OK,
        b"EXAMINE": mailbox(exists=1, uidnext=5),
        b"SELECT": mailbox(exists=3, uidnext=7),
        b"UID FETCH": shown(5, b"<mine@x>") + shown(6, b"<mine@x>") + OK,
    }
    async with appending(replies, capabilities=b"IMAP4rev1") as (_, to):
        with pytest.raises(Ambiguous) as raised:
            await append(to, mail("a@b.c", message_id="<mine@x>"))
        assert raised.value.code == "handle_unknown"


@pytest.mark.parametrize("raw", [b"", b"a\nb\r\n", b"nul\0\r\n", b"a\rb\r\n"])
async def test_what_is_no_mail_is_not_stored(raw: bytes) -> None:
    async with appending({b"APPEND": STORED}) as (server, to):
        with pytest.raises(Invalid):
            await append(to, MemoryOctets(raw))
        assert server.commands(b"APPEND") == []


async def test_those_that_follow_one_into_a_mailbox_find_it_open() -> None:
    """A mailbox that is open is stored into several times as fast on Dovecot; a single message is not made to wait for it."""
    async with appending({b"APPEND": STORED}) as (server, to):
        await append(to, mail("a@b.c"))
        assert server.commands(b"SELECT") == []
        for _ in range(3):
            await append(to, mail("a@b.c"))
        assert server.commands(b"SELECT") == [b'SELECT "Work"']
        assert server.commands(b"NOOP") == []
        assert len(server.commands(b"APPEND")) == 4


async def test_a_mailbox_that_goes_between_two_messages_is_told_as_gone() -> None:
    async with appending({b"APPEND": STORED, b"SELECT": b"@TAG@ NO no such mailbox\r\n"}) as (server, to):
        await append(to, mail("a@b.c"))
        with pytest.raises(NotFound) as told:
            await append(to, mail("a@b.c"))
        assert told.value.code == "no_such_mailbox"
        assert len(server.commands(b"APPEND")) == 1
