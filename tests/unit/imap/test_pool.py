"""The sessions of an account: bounded, fair, reused, reconnected, and gone after `aclose`."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from mcp_proton.domain.errors import AuthFailed, NotFound, Stale
from mcp_proton.domain.turns import Turns
from mcp_proton.imap.errors import Busy, ConnectionLost, Rebuilt, Rejected
from mcp_proton.imap.protocol.commands import Noop, StatusOf
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.idle import Idle, Missed
from mcp_proton.imap.protocol.pool import Habits
from mcp_proton.imap.protocol.responses import Exists, Expunged
from mcp_proton.imap.protocol.writer import Atom
from tests.unit.imap.scripted import CAPABILITIES, OK, QUICK, ScriptedServer, Talk, mailbox, pool_for, serving

FLAGS = Items(flags=True)
ONE = b"* 1 FETCH (UID 1 FLAGS ())\r\n" + OK


async def test_reading_examines_and_never_selects() -> None:
    async with serving({b"UID FETCH": ONE}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        await box.fetch_all([1], Items(flags=True, sections=("",)))
        assert (box.exists, box.uidnext, box.uidvalidity) == (1, 2, 1)
        assert box.permanent_flags == {"\\Seen", "\\Flagged"}
    assert server.commands(b"EXAMINE")
    assert not server.commands(b"SELECT")
    assert server.commands(b"UID FETCH") == [b"UID FETCH 1 (UID FLAGS BODY.PEEK[])"]


async def test_a_kept_mailbox_is_used_again_without_opening_it() -> None:
    async with serving() as server, pool_for(server) as pool:
        for name in ("INBOX", "inbox", "INBOX"):
            async with pool.reading(name) as box:
                await box.run(Noop())
        assert len(server.commands(b"EXAMINE")) == 1
        assert len(server.talks) == 1


async def test_a_kept_mailbox_is_opened_again_when_mail_came() -> None:
    replies = {b"NOOP": b"* 2 EXISTS\r\n" + OK}
    async with serving(replies) as server, pool_for(server, habits=Habits(quiet=0.0)) as pool:
        async with pool.reading("INBOX"):
            pass
        server.replies[b"EXAMINE"] = mailbox(exists=2, uidnext=3)
        async with pool.reading("INBOX") as box:
            assert (box.exists, box.uidnext) == (2, 3)
        assert len(server.commands(b"EXAMINE")) == 2


@pytest.mark.parametrize(("exists", "uidnext", "known"), [(3, 4, 3), (2, 4, 0), (3, 0, 0), (0, 1, 0), (5, 4, 0)])
async def test_a_mailbox_without_gaps_needs_no_search_to_know_its_uids(exists: int, uidnext: int, known: int) -> None:
    replies = {b"EXAMINE": mailbox(exists=exists, uidnext=uidnext)}
    async with serving(replies) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        assert list(box.uids) == list(range(1, known + 1))


async def test_writing_selects_and_a_noop_goes_just_before() -> None:
    async with serving() as server, pool_for(server) as pool:
        async with pool.writing("INBOX"):
            pass
        async with pool.writing("INBOX") as box:
            await box.run(Noop())
            tail = [command.split()[0] for command in server.received[-3:]]
    assert tail == [b"SELECT", b"NOOP", b"NOOP"]


async def test_other_mailboxes_get_sessions_of_their_own_up_to_the_bound() -> None:
    async with serving() as server, pool_for(server, habits=Habits(sessions=2)) as pool:
        for name in ("A", "B", "A", "B", "C", "B"):
            async with pool.reading(name):
                pass
        assert len(server.talks) == 2
        assert server.commands(b"EXAMINE") == [
            b'EXAMINE "A"',
            b'EXAMINE "B"',
            b'EXAMINE "C"',
        ]


async def test_never_more_sessions_at_once_than_allowed() -> None:
    """P-03"""
    busy = 0
    most = 0

    async def fetch(talk: Talk, tag: bytes, command: bytes) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.02)
        busy -= 1
        await talk.say(ONE, tag)

    async with serving({b"UID FETCH": fetch}) as server, pool_for(server, habits=Habits(sessions=3)) as pool:

        async def read(number: int) -> None:
            async with pool.reading(f"box{number}") as box:
                await box.fetch_all([1], FLAGS)

        await asyncio.gather(*(read(number) for number in range(12)))
        assert most == 3
        assert len(server.talks) == 3


async def test_turns_go_round_between_callers() -> None:
    turns = Turns(1)
    order: list[str] = []

    async def work(caller: str) -> None:
        await turns.take(caller)
        order.append(caller)
        await asyncio.sleep(0)
        turns.give()

    await turns.take("first")
    tasks = [asyncio.ensure_future(work(caller)) for caller in ("a", "a", "a", "b", "c", "b")]
    await asyncio.sleep(0)
    turns.give()
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c", "a", "b", "a"]


async def test_a_cancelled_wait_costs_nobody_a_turn() -> None:
    turns = Turns(1)
    await turns.take("x")
    waiting = [asyncio.ensure_future(turns.take("y")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    turns.give()
    waiting[1].cancel()  # it has just been given the place
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await asyncio.wait_for(waiting[2], 1)
    assert turns.taken == 1


async def test_a_wait_that_takes_too_long_is_busy() -> None:
    async with (
        serving() as server,
        pool_for(server, habits=Habits(sessions=1, turn=0.05)) as pool,
        pool.reading("INBOX"),
    ):
        with pytest.raises(Busy):
            async with pool.reading("INBOX"):
                pass


async def test_after_a_restart_the_server_is_found_again_with_its_new_capabilities() -> None:
    """P-04"""
    server = ScriptedServer({b"UID FETCH": ONE})
    await server.start()
    async with pool_for(server, habits=Habits(quiet=0.0)) as pool:
        async with pool.reading("INBOX"):
            assert pool.capabilities is not None
            assert "X-NEW" not in pool.capabilities
        port = server.port
        await server.stop()
        newer = ScriptedServer(
            {b"UID FETCH": ONE, b"EXAMINE": mailbox(uidvalidity=2)}, capabilities=CAPABILITIES + b" X-NEW"
        )
        await newer.start(port)
        async with pool.reading("INBOX") as box:
            assert box.can("x-new")
            assert box.uidvalidity == 2
        assert "X-NEW" in (pool.capabilities or ())
        assert pool.logins == 2
        await newer.stop()


async def test_a_server_that_comes_back_within_seconds_is_waited_for() -> None:
    server = ScriptedServer()
    await server.start()
    port = server.port
    await server.stop()
    async with pool_for(server) as pool:
        task = asyncio.ensure_future(pool.run(Noop()))
        await asyncio.sleep(0.1)
        await server.start(port)
        await task
        await server.stop()


async def test_a_server_that_stays_away_is_reported_and_not_hammered() -> None:
    server = ScriptedServer()
    await server.start()
    await server.stop()
    async with pool_for(server) as pool:
        with pytest.raises(ConnectionLost):
            await pool.run(Noop())
        async with asyncio.timeout(2):  # the first try had four seconds of patience
            with pytest.raises(ConnectionLost):
                await pool.run(Noop())


async def test_a_refused_login_is_not_repeated_at_once_but_tried_again_later() -> None:
    async with serving({b"LOGIN": b"@TAG@ NO no such user\r\n"}) as server, pool_for(server) as pool:
        for _ in range(5):
            with pytest.raises(AuthFailed):
                await pool.run(Noop())
        assert len(server.commands(b"LOGIN")) == 1
        server.replies[b"LOGIN"] = OK
        await asyncio.sleep(0.25)
        await pool.run(Noop())


async def test_a_session_that_died_in_the_pool_is_replaced_unseen() -> None:
    async with serving({b"UID FETCH": ONE}) as server, pool_for(server, habits=Habits(quiet=0.0)) as pool:
        async with pool.reading("INBOX"):
            pass

        async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
            await talk.hang_up()

        server.replies[b"NOOP"] = hang_up
        async with pool.reading("INBOX") as box:
            assert len(await box.fetch_all([1], FLAGS)) == 1
        assert len(server.talks) == 2


async def test_a_mailbox_with_another_uidvalidity_than_expected_is_rebuilt() -> None:
    async with serving({b"EXAMINE": mailbox(uidvalidity=9)}) as server, pool_for(server) as pool:
        with pytest.raises(Rebuilt) as stale:
            async with pool.reading("INBOX", uidvalidity=8):
                pass
        assert isinstance(stale.value, Stale)
        assert stale.value.uidvalidity == 9
        async with pool.reading("INBOX", uidvalidity=9):
            pass


async def test_a_missing_uid_makes_us_look_whether_the_mailbox_was_rebuilt() -> None:
    """Bridge's internal resync leaves open sessions with dead UIDs and says nothing."""
    async with serving({b"UID FETCH": ONE}) as server, pool_for(server) as pool:
        async with pool.reading("INBOX") as box:
            assert len(await box.fetch_all([1, 2], FLAGS)) == 1  # gone, but the same mailbox
            server.replies[b"EXAMINE"] = mailbox(uidvalidity=77)
            with pytest.raises(Rebuilt):
                await box.fetch_all([1, 2], FLAGS)
        async with pool.reading("INBOX") as box:
            rows = box.fetch([1, 2], FLAGS)
            assert (await anext(rows)).uid == 1
            server.replies[b"EXAMINE"] = mailbox(uidvalidity=78)
            with pytest.raises(Rebuilt):
                await anext(rows)


async def test_a_window_with_gaps_is_nothing_to_look_into() -> None:
    from mcp_proton.imap.protocol.uids import UidSet

    async with serving({b"UID FETCH": ONE}) as server, pool_for(server) as pool:
        async with pool.reading("INBOX") as box:
            assert len(await box.fetch_all(UidSet.window(1, 500), FLAGS)) == 1
        assert len(server.commands(b"EXAMINE")) == 1


async def test_a_mailbox_that_is_not_there_is_not_found_and_costs_no_session() -> None:
    async with serving({b'EXAMINE "GONE"': b"@TAG@ NO no such mailbox\r\n"}) as server, pool_for(server) as pool:
        for _ in range(6):
            with pytest.raises(NotFound):
                async with pool.reading("Gone"):
                    pass
        async with pool.reading("INBOX"):
            pass
        assert len(server.talks) == 1


async def test_leaving_in_the_middle_of_an_answer_leaves_the_pool_in_step() -> None:
    rows = b"".join(b"* 1 FETCH (UID %d FLAGS ())\r\n" % uid for uid in range(1, 2000))
    async with serving({b"UID FETCH": rows + OK}) as server, pool_for(server, habits=Habits(sessions=1)) as pool:
        for _ in range(5):
            async with pool.reading("INBOX") as box:
                async for row in box.fetch(range(1, 2000), FLAGS):
                    assert row.uid == 1
                    break
        async with pool.reading("INBOX") as box:
            assert len([row async for row in box.fetch(range(1, 2000), FLAGS)]) == 1999
        assert len(server.talks) == 1


async def test_a_command_in_the_middle_of_a_held_back_walk_is_answered() -> None:
    rows = b"".join(b"* 1 FETCH (UID %d BODY[] {5000}\r\n%b)\r\n" % (uid, b"x" * 5000) for uid in range(1, 1000))
    async with serving({b"UID FETCH": rows + OK}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        count = 0
        async for _row in box.fetch(range(1, 1000), Items(sections=("",))):
            count += 1
            if count % 100 == 1:
                await asyncio.sleep(0.01)
                await box.run(Noop())
        assert count == 999


async def test_a_cancelled_reader_gives_its_session_back_clean() -> None:
    async def slow(talk: Talk, tag: bytes, command: bytes) -> None:
        await asyncio.sleep(0.1)
        await talk.say(ONE, tag)

    async with serving({b"UID FETCH": slow}) as server, pool_for(server, habits=Habits(sessions=1)) as pool:

        async def read() -> int:
            async with pool.reading("INBOX") as box:
                return len(await box.fetch_all([1], FLAGS))

        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(read(), 0.03)
        assert await asyncio.wait_for(read(), 2) == 1
        assert len(server.talks) == 1


async def test_a_session_that_cannot_be_cleaned_is_replaced() -> None:
    async def never(talk: Talk, tag: bytes, command: bytes) -> None:
        return

    timing = replace(QUICK, settle=0.05)
    async with (
        serving({b"UID FETCH": never}) as server,
        pool_for(server, timing=timing, habits=Habits(sessions=1)) as pool,
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), pool.reading("INBOX") as box:
                await box.fetch_all([1], FLAGS)
        server.replies[b"UID FETCH"] = ONE
        async with pool.reading("INBOX") as box:
            assert len(await box.fetch_all([1], FLAGS)) == 1
        assert len(server.talks) == 2


async def test_closing_ends_the_waiting_and_the_working_and_says_goodbye() -> None:
    async def never(talk: Talk, tag: bytes, command: bytes) -> None:
        return

    async with serving({b"UID FETCH": never}) as server:
        pool = pool_for(server, habits=Habits(sessions=2))
        async with pool.reading("Kept"):
            pass

        async def read(name: str) -> None:
            async with pool.reading(name) as box:
                await box.fetch_all([1], FLAGS)

        async with pool.reading("Other"):
            working = asyncio.ensure_future(read("Busy"))
            waiting = asyncio.ensure_future(read("Late"))
            await asyncio.sleep(0.05)
            async with asyncio.timeout(20):
                await pool.aclose()
        outcomes = await asyncio.gather(working, waiting, return_exceptions=True)
        assert isinstance(outcomes[0], ConnectionLost)
        assert isinstance(outcomes[1], Busy)
        with pytest.raises(Busy):
            await pool.run(Noop())
        await pool.aclose()


async def test_idle_sessions_say_goodbye_on_closing() -> None:
    async with serving() as server:
        async with pool_for(server) as pool, pool.reading("INBOX"):
            pass
        assert len(server.commands(b"LOGOUT")) == 1


async def test_mailboxes_and_their_counts_take_two_round_trips_or_one() -> None:
    listing = b'* LIST (\\Noselect) "/" "Folders"\r\n* LIST () "/" "INBOX"\r\n* LIST () "/" "Odd"\r\n'

    async def status(talk: Talk, tag: bytes, command: bytes) -> None:
        if b"Odd" in command:
            await talk.say(b"@TAG@ NO no such mailbox\r\n", tag)
        else:
            await talk.say(b'* STATUS "INBOX" (MESSAGES 3 UNSEEN 1)\r\n' + OK, tag)

    async with serving({b"LIST": listing + OK, b"STATUS": status}) as server, pool_for(server) as pool:
        entries, counts = await pool.list(status=["MESSAGES", "UNSEEN"])
        assert [entry.name for entry in entries] == ["Folders", "INBOX", "Odd"]
        assert set(counts) == {b"INBOX", b"Odd"}
        assert isinstance(counts[b"Odd"], Rejected)
        assert getattr(counts[b"INBOX"], "items", None) == {"MESSAGES": 3, "UNSEEN": 1}
    once = {b"LIST": listing + b'* STATUS "INBOX" (MESSAGES 3)\r\n' + OK}
    async with serving(once, capabilities=b"IMAP4rev1 LIST-STATUS") as server, pool_for(server) as pool:
        _, counts = await pool.list(status=["MESSAGES"])
        assert set(counts) == {b"INBOX"}
        assert server.commands(b"LIST") == [b'LIST "" "*" RETURN (STATUS (MESSAGES))']


async def test_status_answers_go_to_the_mailbox_they_name() -> None:
    async def both(talk: Talk, tag: bytes, command: bytes) -> None:
        if b"A" in command:
            await talk.say(b'* STATUS "B" (MESSAGES 2)\r\n* STATUS "A" (MESSAGES 1)\r\n' + OK, tag)
        else:
            await talk.say(OK, tag)

    async with serving({b"STATUS": both}) as server, pool_for(server) as pool, pool.session() as session:
        found = await session.run_all([StatusOf("A", ["MESSAGES"]), StatusOf("B", ["MESSAGES"])])
    assert [getattr(one, "items", None) for one in found] == [{"MESSAGES": 1}, {"MESSAGES": 2}]


async def test_extended_search_is_used_only_where_it_is_advertised() -> None:
    """P-65"""
    plain = {b"UID SEARCH": b"* SEARCH 5 3\r\n" + OK}
    async with serving(plain) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        assert list(await box.search(Atom("UNSEEN"))) == [3, 5]
        assert server.commands(b"UID SEARCH") == [b"UID SEARCH UNSEEN"]

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b'* ESEARCH (TAG "other") UID ALL 9\r\n* ESEARCH (TAG "@TAG@") UID ALL 3,5:6\r\n' + OK, tag)

    extended = {b"UID SEARCH": answer}
    async with (
        serving(extended, capabilities=b"IMAP4rev1 ESEARCH") as server,
        pool_for(server) as pool,
        pool.reading("INBOX") as box,
    ):
        assert list(await box.search(Atom("UNSEEN"))) == [3, 5, 6]
        assert server.commands(b"UID SEARCH") == [b"UID SEARCH RETURN (ALL) UNSEEN"]


async def test_a_long_set_of_uids_becomes_several_commands() -> None:
    async def echo(talk: Talk, tag: bytes, command: bytes) -> None:
        from mcp_proton.imap.protocol.uids import UidSet

        rows = (b"* 1 FETCH (UID %d FLAGS ())\r\n" % uid for uid in UidSet.parse(command.split()[2]))
        await talk.say(b"".join(rows) + OK, tag)

    wanted = list(range(1, 8000, 2))
    async with serving({b"UID FETCH": echo}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        assert [row.uid for row in await box.fetch_all(wanted, FLAGS)] == wanted
        assert [row.uid async for row in box.fetch(wanted, FLAGS)] == wanted
        sent = server.commands(b"UID FETCH")
    assert len(sent) == 6
    assert max(map(len, sent)) < 8000


async def test_watching_tells_changes_and_has_a_session_of_its_own() -> None:
    async def idle(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"+ Ready\r\n* 3 EXISTS\r\n* 2 EXPUNGE\r\n* 3 RECENT\r\n")
        assert await talk.reader.readline() == b"DONE\r\n"
        await talk.say(OK, tag)

    async with serving({b"IDLE": idle}) as server, pool_for(server, habits=Habits(sessions=1)) as pool:
        async with pool.reading("INBOX"), pool.watching("INBOX") as watch:
            assert watch.pushed
            assert await anext(watch) == Exists(3)
            assert await anext(watch) == Expunged(2)
        assert len(server.talks) == 2
        assert server.commands(b"LOGOUT")


async def test_no_command_is_sent_while_idle_runs() -> None:
    """Bridge would end IDLE with BAD and swallow the command."""
    from mcp_proton.domain.errors import Defect
    from tests.unit.imap.scripted import session_with

    async def idle(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"+ Ready\r\n")
        await talk.reader.readline()
        await talk.say(OK, tag)

    async with session_with({b"IDLE": idle}) as (session, server):
        (running,) = await session.connection.start([Idle()])
        with pytest.raises(Defect):
            await session.noop()
        session.connection.send_now(b"DONE\r\n")
        await session.connection.finish(running)
        await session.noop()
        assert [command for command in server.received if command in {b"IDLE", b"NOOP"}] == [b"IDLE", b"NOOP"]


async def test_a_watch_whose_connection_ends_says_so() -> None:
    async def idle(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"+ Ready\r\n")
        await talk.hang_up()

    async with serving({b"IDLE": idle}) as server, pool_for(server) as pool:
        with pytest.raises(ConnectionLost):
            async with pool.watching("INBOX") as watch:
                await anext(watch)


async def test_more_changes_than_are_kept_become_one_word() -> None:
    async def idle(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"+ Ready\r\n" + b"* 1 EXPUNGE\r\n" * 1500)
        await talk.reader.readline()
        await talk.say(OK, tag)

    async with serving({b"IDLE": idle}) as server, pool_for(server) as pool, pool.watching("INBOX") as watch:
        told = [await anext(watch)]
        await asyncio.sleep(0.1)
        while told[-1] != Missed():
            told.append(await anext(watch))
        assert len(told) < 1_001
        assert set(told) <= {Expunged(1), Missed()}


async def test_a_read_after_a_write_of_ours_looks_again_however_fresh_its_view_is() -> None:
    """Else a list shows, right after a move, what the move took away."""
    async with serving() as server, pool_for(server, habits=Habits(sessions=2, quiet=1000.0)) as pool:
        async with pool.reading("INBOX"), pool.writing("INBOX"):  # a second session, since the first is in use
            pass
        before = len(server.commands(b"NOOP"))
        async with pool.reading("INBOX"):
            assert len(server.commands(b"NOOP")) == before + 1
        async with pool.reading("INBOX"):
            assert len(server.commands(b"NOOP")) == before + 1
