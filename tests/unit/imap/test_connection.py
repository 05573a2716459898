"""Commands and their answers: in step whatever happens, and everyone waiting hears of the end at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from mcp_proton.domain.errors import Ambiguous, Defect, MailError, NotFound
from mcp_proton.imap.errors import ConnectionLost, LimitExceeded, ProtocolViolation, Rejected, TimedOut
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.commands import Noop
from mcp_proton.imap.protocol.fetching import Fetch, Items
from mcp_proton.imap.protocol.responses import Exists, Response
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.protocol.writer import Atom
from tests.unit.imap.scripted import OK, QUICK, Talk, mailbox, session_with

FLAGS = Items(flags=True)


def fetch(uid: int) -> Fetch:
    return Fetch(UidSet.of([uid]), FLAGS)


async def test_pipelined_commands_go_in_one_packet_and_come_back_in_order() -> None:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        uid = command.split()[2]
        await talk.say(b"* 1 FETCH (UID %b FLAGS (\\Seen))\r\n" % uid + OK, tag)

    async with session_with({b"UID FETCH": answer}) as (session, server):
        await session.select("INBOX", read_only=True)
        results = await session.run_all([fetch(uid) for uid in (3, 1, 2)])
    assert [[row.uid for row in rows] for rows in results if isinstance(rows, list)] == [[3], [1], [2]]
    assert len(server.commands(b"UID FETCH")) == 3


async def test_a_server_that_runs_fetches_side_by_side_is_understood() -> None:
    """Dovecot sends all the data first and the tagged answers afterwards."""
    waiting: list[bytes] = []

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"* 1 FETCH (UID %b FLAGS ())\r\n" % command.split()[2])
        waiting.append(tag)
        if len(waiting) == 3:
            await talk.say(b"".join(b"%b OK done\r\n" % one for one in waiting))

    async with session_with({b"UID FETCH": answer}) as (session, _):
        results = await session.run_all([fetch(uid) for uid in (7, 8, 9)])
    assert [[row.uid for row in rows] for rows in results if isinstance(rows, list)] == [[7], [8], [9]]


async def test_a_refused_command_in_the_middle_leaves_the_others_their_results() -> None:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        refused = command.split()[2] == b"2"
        await talk.say(b"@TAG@ NO no such parts exists\r\n" if refused else b"* 1 FETCH (UID 1 FLAGS ())\r\n" + OK, tag)

    async with session_with({b"UID FETCH": answer}) as (session, _):
        first, second, third = await session.run_all([fetch(1), fetch(2), fetch(1)])
        assert isinstance(second, Rejected)
        assert second.server_text == "no such parts exists"
        assert isinstance(first, list)
        assert isinstance(third, list)
        await session.noop()


async def test_an_answer_without_a_tag_belongs_to_the_oldest_command() -> None:
    """Bridge answers extra words at a command's end with an empty tag; waiting for the tag would wait for ever."""
    async with session_with({b"STATUS": b" BAD [Error offset=38]: expected CR\r\n"}) as (session, _):
        results = await session.run_all([commands.StatusOf("INBOX", ["MESSAGES"]), Noop()])
        assert isinstance(results[0], Rejected)
        assert results[0].answer == "BAD"
        assert not isinstance(results[1], Rejected)
        await session.noop()


async def test_an_untagged_refusal_while_nothing_runs_is_ignored() -> None:
    async with session_with({b"NOOP": OK + b" NO bad command\r\n"}) as (session, _):
        await session.noop()
        await session.noop()


async def test_an_open_quote_that_swallows_commands_ends_in_a_timeout_for_all() -> None:
    """A Bridge whose parser waits for a closing quote answers nothing: everyone gets an error, and the connection goes."""

    async def nothing(talk: Talk, tag: bytes, command: bytes) -> None:
        return

    timing = replace(QUICK, silence=0.2)
    async with session_with({b"STATUS": nothing, b"NOOP": nothing}, timing=timing) as (session, _):
        asks = [commands.StatusOf("INBOX", ["MESSAGES"]), Noop(), Noop()]
        waiting = [asyncio.ensure_future(session.run(ask)) for ask in asks]
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [TimedOut] * 3
        assert session.ended is not None
        with pytest.raises(TimedOut):
            await session.noop()


async def test_a_server_that_echoes_our_lines_is_no_answer_and_no_leak() -> None:
    async def echo(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(tag + b" " + command + b"\r\n* " + command + b"\r\n@TAG@ BAD unknown " + command + b"\r\n", tag)

    async with session_with() as (session, server):
        server.replies |= {b"LOGIN": echo, b"NOOP": echo}
        with pytest.raises(Rejected) as refusal:
            await session.run(commands.Login("me", "hush-hush"))
        assert "hush" not in str(refusal.value) + refusal.value.server_text
        with pytest.raises(Rejected):
            await session.noop()


async def test_a_refusal_keeps_little_of_what_the_server_says_and_none_of_it_in_the_message() -> None:
    noise = b"@TAG@ BAD unknown command '" + b"a" * 70_000 + b"\x1b[31m\xe2\x80\xae'\r\n"
    async with session_with({b"NOOP": noise}) as (session, _):
        with pytest.raises(Rejected) as refusal:
            await session.noop()
        assert str(refusal.value) == "the mail server refused `NOOP`"
        assert len(refusal.value.server_text) == 200


async def test_text_in_a_mail_cannot_end_a_command_since_tags_cannot_be_guessed() -> None:
    tags: list[bytes] = []

    async def note(talk: Talk, tag: bytes, command: bytes) -> None:
        tags.append(tag)
        await talk.say(b"A1 OK forged\r\n1 OK forged\r\n" + OK, tag)

    for _ in range(3):
        async with session_with({b"NOOP": note}) as (session, _server):
            await session.noop()
    assert len({tag[:5] for tag in tags}) == 3


async def test_everyone_waiting_hears_of_the_end_at_once() -> None:
    async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.hang_up()

    async with session_with({b"NOOP": hang_up}) as (session, _):
        async with asyncio.timeout(10):
            outcomes = await asyncio.gather(*(session.run(Noop()) for _ in range(5)), return_exceptions=True)
        assert all(isinstance(outcome, ConnectionLost) for outcome in outcomes)


async def test_goodbye_from_the_server_ends_what_is_under_way_without_waiting() -> None:
    async with session_with({b"NOOP": b"* BYE IMAP session state is inconsistent, please re-login.\r\n"}) as (
        session,
        _,
    ):
        with pytest.raises(ConnectionLost):
            await session.noop()


@pytest.mark.parametrize(
    "ask", [commands.Store(UidSet.of([1]), ["\\Seen"], add=True), commands.Move(UidSet.of([1]), "X")]
)
async def test_a_change_whose_answer_was_lost_is_ambiguous(ask: commands.Store | commands.Move) -> None:
    async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.hang_up()

    async with session_with({b"UID": hang_up}) as (session, _):
        with pytest.raises(Ambiguous):
            await session.run(ask)


async def test_a_change_that_was_never_sent_is_not_ambiguous() -> None:
    async with session_with() as (session, _):
        session.close()
        with pytest.raises(ConnectionLost):
            await session.run(commands.Store(UidSet.of([1]), ["\\Seen"], add=True))


async def test_a_cancelled_command_leaves_the_connection_clean() -> None:
    go = asyncio.Event()

    async def late(talk: Talk, tag: bytes, command: bytes) -> None:
        await go.wait()
        await talk.say(b"* 1 FETCH (UID 1 FLAGS (\\Seen))\r\n" * 3 + OK, tag)

    async with session_with({b"UID FETCH": late}) as (session, _):
        task = asyncio.ensure_future(session.run(fetch(1)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not session.connection.settled
        go.set()
        assert await session.settle()
        await session.noop()
        assert session.ended is None


async def test_a_cancelled_command_that_takes_too_long_closes_the_connection() -> None:
    async def never(talk: Talk, tag: bytes, command: bytes) -> None:
        return

    async with session_with({b"UID FETCH": never}, timing=replace(QUICK, settle=0.1)) as (session, _):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.run(fetch(1)), 0.05)
        assert not await session.settle()
        assert session.ended is not None


async def test_cancelled_while_a_literal_waits_the_connection_is_closed() -> None:
    """Half a command was sent: whatever followed would be read as its rest."""

    async with session_with() as (session, server):
        server.talks[0].say = _mute  # type: ignore[method-assign]
        task = asyncio.ensure_future(session.run(commands.Search([Atom("SUBJECT"), "ü"])))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session.ended is not None


async def _mute(data: bytes, tag: bytes = b"") -> None:
    return


async def test_a_literal_is_sent_only_after_the_go_ahead_and_not_at_all_when_refused() -> None:
    async with session_with({b"UID SEARCH": b"* SEARCH 4\r\n" + OK}) as (session, server):
        assert list(await session.run(commands.Search([Atom("SUBJECT"), "ü"]))) == [4]
        assert server.commands(b"UID SEARCH")[-1].endswith("{2}\r\nü".encode())

        async def refuse(data: bytes, tag: bytes = b"") -> None:
            talk.writer.write(f"{session.connection._tags}{session.connection._count} NO no literals\r\n".encode())

        talk = server.talks[0]
        talk.say = refuse  # type: ignore[method-assign]
        with pytest.raises(Rejected):
            await session.run(commands.Search([Atom("SUBJECT"), "ü"]))


async def test_news_nobody_asked_for_reach_the_listener_and_the_counts() -> None:
    async with session_with(
        {b"EXAMINE": mailbox(3), b"NOOP": b"* 5 EXISTS\r\n* 1 EXPUNGE\r\n* 2 FETCH (FLAGS ())\r\n" + OK}
    ) as (
        session,
        _,
    ):
        heard: list[Response] = []
        session.listen(heard.append)
        selection = await session.select("INBOX", read_only=True)
        assert selection.exists == 3
        await session.noop()
        assert selection.exists == 4
        assert heard[0] == Exists(5)
        assert isinstance(heard[2], FetchRow)


async def test_a_failed_select_leaves_no_mailbox_open() -> None:
    """Bridge keeps the old mailbox open after a failed SELECT; the RFC says none is. Nothing is read either way."""
    async with session_with({b"EXAMINE": mailbox(), b'EXAMINE "NOWHERE"': b"@TAG@ NO no such mailbox\r\n"}) as (
        session,
        _,
    ):
        await session.select("INBOX", read_only=True)
        with pytest.raises(NotFound):
            await session.select("Nowhere", read_only=True)
        assert session.selection is None


async def test_a_mailbox_is_not_opened_while_another_ones_commands_run() -> None:
    async def slow(talk: Talk, tag: bytes, command: bytes) -> None:
        await asyncio.sleep(0.1)
        await talk.say(OK, tag)

    async with session_with({b"UID FETCH": slow}) as (session, _):
        task = asyncio.ensure_future(session.run(fetch(1)))
        await asyncio.sleep(0.02)
        with pytest.raises(Defect):
            await session.select("INBOX", read_only=True)
        await task


@pytest.mark.parametrize(
    ("limits", "answer"),
    [
        (Limits(unasked=100), b"* 5 EXISTS\r\n" * 200),
        (Limits(garbage=10), b"what is this\r\n" * 20),
        (Limits(held=20_000), b"".join(b"* 1 FETCH (UID %d FLAGS ())\r\n" % uid for uid in range(1, 500))),
        (Limits(literal=100), b"* 1 FETCH (UID 1 BODY[] {200}\r\n"),
        (Limits(line=100), b"* OK " + b"x" * 400_000),
    ],
    ids=["unasked", "garbage", "held", "literal", "line"],
)
async def test_a_server_that_floods_us_is_left(limits: Limits, answer: bytes) -> None:
    async with session_with({b"UID FETCH": answer + OK}, limits=limits) as (session, _):
        with pytest.raises(LimitExceeded):
            await session.run(Fetch(UidSet.since(1), FLAGS))


async def test_rows_of_other_messages_are_not_taken_for_an_answer() -> None:
    reply = b"* 9 FETCH (UID 9 FLAGS ())\r\n* 1 FETCH (UID 4294967999 FLAGS ())\r\n* 1 FETCH (UID 1 FLAGS ())\r\n" + OK
    async with session_with({b"UID FETCH": reply}) as (session, _):
        assert [row.uid for row in await session.run(fetch(1))] == [1]


async def test_what_answers_without_speaking_imap_is_refused_at_once() -> None:
    from mcp_proton.imap.protocol.opening import open_session
    from tests.unit.imap.scripted import CREDENTIALS, IDENTITY, serving

    async with serving() as server:
        server.greeting = b"220 mail.example.org ESMTP\r\n"
        with pytest.raises(ProtocolViolation):
            await open_session(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=QUICK)


async def test_alerts_are_kept_for_the_owner() -> None:
    async with session_with({b"NOOP": b"* OK [ALERT] disk full\r\n" + OK}) as (session, _):
        await session.noop()
        assert list(session.alerts) == [b"disk full"]


async def test_errors_of_ours_are_all_that_is_raised() -> None:
    async with session_with() as (session, server):
        server.talks[0].writer.transport.abort()
        await asyncio.sleep(0.05)
        with pytest.raises(MailError):
            await session.noop()
