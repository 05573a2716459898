"""Time, on a wound clock: a busy Bridge is waited for, a dead server isn't."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext

import pytest

from mcp_proton.imap.errors import TimedOut
from mcp_proton.imap.limits import Timing
from mcp_proton.imap.protocol.commands import Noop
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.pool import Habits, Pool
from mcp_proton.imap.protocol.responses import Exists
from tests.unit.imap.scripted import CREDENTIALS, IDENTITY, OK, ScriptedServer, Talk, mailbox
from tests.unit.imap.wound import run_wound


async def served(server: ScriptedServer, timing: Timing | None = None, habits: Habits | None = None) -> Pool:
    await server.start()
    return Pool(server.endpoint(), CREDENTIALS, identity=IDENTITY, timing=timing, habits=habits)


def after(seconds: float, reply: bytes) -> object:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        await asyncio.sleep(seconds)
        await talk.say(reply, tag)

    return answer


async def waited(reply: object, expected: AbstractContextManager[object]) -> float:
    """How long a NOOP takes on the wound clock that the server answers like this, and that ends as expected."""
    server = ScriptedServer({b"NOOP": reply})  # type: ignore[dict-item]
    pool = await served(server)
    began = asyncio.get_running_loop().time()
    with expected:
        async with pool.reading("INBOX") as box:
            await box.run(Noop())
    took = asyncio.get_running_loop().time() - began
    await pool.aclose()
    await server.stop()
    return took


def test_a_bridge_that_holds_every_session_for_47_seconds_is_waited_for() -> None:
    """Somebody's write waits for Proton: all other sessions hang, LIST included, and then go on."""
    assert 47 <= run_wound(waited(after(47, OK), nullcontext())) < 60


def test_a_server_silent_for_longer_than_the_limit_is_left() -> None:
    assert 90 <= run_wound(waited(after(10_000, OK), pytest.raises(TimedOut))) < 100


def test_a_server_that_drips_for_ever_is_left_in_the_end() -> None:
    async def drip(talk: Talk, tag: bytes, command: bytes) -> None:
        while not talk.writer.is_closing():
            await talk.say(b"* OK still here\r\n")
            await asyncio.sleep(60)

    assert 900 <= run_wound(waited(drip, pytest.raises(TimedOut))) < 1000


def test_the_default_silence_outlasts_a_busy_bridge() -> None:
    assert Timing().silence >= 90


def test_a_slow_reader_is_not_a_silent_server() -> None:
    rows = b"".join(b"* 1 FETCH (UID %d BODY[] {40000}\r\n%b)\r\n" % (uid, b"x" * 40_000) for uid in range(1, 101))

    async def main() -> int:
        server = ScriptedServer({b"UID FETCH": rows + OK})
        pool = await served(server)
        count = 0
        async with pool.reading("INBOX") as box:
            async for _row in box.fetch(range(1, 101), Items(sections=("",))):
                count += 1
                if count == 5:
                    await asyncio.sleep(500)
        await pool.aclose()
        await server.stop()
        return count

    assert run_wound(main()) == 100


def test_a_kept_mailbox_is_opened_again_after_a_minute() -> None:
    async def main() -> list[int]:
        server = ScriptedServer({b"EXAMINE": mailbox()})
        pool = await served(server)
        opened: list[int] = []
        for pause in (30, 40, 30):
            async with pool.reading("INBOX"):
                pass
            opened.append(len(server.commands(b"EXAMINE")))
            await asyncio.sleep(pause)
        await pool.aclose()
        await server.stop()
        return opened

    assert run_wound(main()) == [1, 1, 2]


def test_an_unused_session_is_closed_after_a_while() -> None:
    async def main() -> tuple[int, int]:
        server = ScriptedServer()
        pool = await served(server)
        async with pool.reading("INBOX"):
            pass
        await asyncio.sleep(200)
        early = len(server.commands(b"LOGOUT"))
        await asyncio.sleep(150)
        late = len(server.commands(b"LOGOUT"))
        await pool.aclose()
        await server.stop()
        return early, late

    assert run_wound(main()) == (0, 1)


def test_idle_is_issued_anew_before_29_minutes_and_done_always_goes_first() -> None:
    async def main() -> list[bytes]:
        said: list[bytes] = []

        async def idle(talk: Talk, tag: bytes, command: bytes) -> None:
            said.append(b"IDLE")
            await talk.say(b"+ Ready\r\n")
            said.append((await talk.reader.readline()).strip())
            await talk.say(OK, tag)

        server = ScriptedServer({b"IDLE": idle})
        pool = await served(server)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with pool.watching("INBOX") as watch:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(watch), 29 * 60)
        assert loop.time() - began < 31 * 60
        await pool.aclose()
        await server.stop()
        return said

    assert run_wound(main()) == [b"IDLE", b"DONE", b"IDLE", b"DONE"]


def test_where_idle_is_advertised_but_refused_the_server_is_asked_instead() -> None:
    async def main() -> object:
        server = ScriptedServer({b"IDLE": b"@TAG@ BAD not today\r\n", b"NOOP": b"* 4 EXISTS\r\n" + OK})
        pool = await served(server)
        async with pool.watching("INBOX") as watch:
            change = await anext(watch)
            assert not watch.pushed
        await pool.aclose()
        await server.stop()
        return change

    assert run_wound(main()) == Exists(4)


def test_without_idle_the_server_is_asked_now_and_then() -> None:
    async def main() -> tuple[object, float]:
        server = ScriptedServer({b"NOOP": b"* 4 EXISTS\r\n" + OK}, capabilities=b"IMAP4rev1")
        pool = await served(server)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with pool.watching("INBOX") as watch:
            assert not watch.pushed
            change = await anext(watch)
        await pool.aclose()
        await server.stop()
        return change, loop.time() - began

    change, waited = run_wound(main())
    assert change == Exists(4)
    assert 30 <= waited < 40
