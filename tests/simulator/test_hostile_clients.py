"""What odd clients send to a running simulator: it answers, drops them or waits, and serves the next one."""

from __future__ import annotations

import asyncio
import random

import pytest

from mcp_proton.simulator import Certificate, GivenMessage, Simulator
from tests.simulator.client import Client
from tests.simulator.test_simulator import mail


@pytest.fixture
async def sim(certificate: Certificate):
    async with Simulator([GivenMessage(mail("one"))], certificate=certificate) as simulator:
        yield simulator


async def test_twenty_unreadable_lines_end_the_connection_and_a_good_one_starts_the_count_anew(sim: Simulator) -> None:
    async with Client(sim) as client:
        for _ in range(19):
            assert "unknown command" in (await client("NONSENSE"))[0]
        assert (await client("NOOP"))[0].startswith("OK")
        answers = [(await client("NONSENSE"))[-1] for _ in range(21)]
    assert answers[-1] == "(connection closed)"
    assert "unknown command" in answers[-2]


async def test_extra_text_is_answered_without_a_tag(sim: Simulator) -> None:
    async with Client(sim) as client:
        client.send(b"x NOOP x\r\n")
        assert await client.line() == " BAD [Error offset=6]: expected CR"


async def test_an_open_quote_takes_in_lines_until_it_is_closed(sim: Simulator) -> None:
    async with Client(sim) as client:
        client.send(b'x SELECT "INBOX\r\ny NOOP\r\n')
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.readline(), 0.05)
        client.send(b'" x\r\nz NOOP\r\n')
        assert "expected CR" in await client.line()
        assert (await client.line()).startswith("z OK")


async def test_random_bytes_never_take_the_simulator_down(sim: Simulator) -> None:
    source = random.Random(7)
    for _ in range(60):
        async with Client(sim) as client:
            await client("SELECT INBOX")
            client.send(source.randbytes(source.randrange(400)) + b'"\r\n' * source.randrange(3))
    async with Client(sim) as client:
        assert "* 1 EXISTS" in await client("SELECT INBOX")


async def test_a_client_that_leaves_in_the_middle_of_a_literal_leaves_nothing_behind(sim: Simulator) -> None:
    async with Client(sim) as client:
        client.send(b"x APPEND INBOX {500}\r\nFrom: a@b.example\r\n")
        assert await client.line() == "+ Ready"
    while sim.sessions:
        await asyncio.sleep(0)
    assert len(sim.state()) == 1


async def test_every_third_failed_login_in_a_row_has_another_text(sim: Simulator) -> None:
    async with Client(sim, log_in=False) as client:
        answers = [(await client(f"LOGIN {sim.username} wrong"))[0] for _ in range(6)]
        assert answers == ["NO no such user", "NO no such user", "NO too many login attempts"] * 2
        assert "Logged in" in (await client(f'LOGIN "{sim.username.upper()}" {sim.password}'))[0]


async def test_a_large_answer_to_a_slow_reader_does_not_stop_other_sessions(certificate: Certificate) -> None:
    given = [GivenMessage(mail("large", "x" * 70 + "\n" + "words and words\n" * 60_000))]
    async with Simulator(given, certificate=certificate) as sim, Client(sim) as slow, Client(sim) as other:
        await slow("SELECT INBOX")
        for number in range(40):
            slow.send(b"s%d UID FETCH 1 (BODY.PEEK[])\r\n" % number)
        for _ in range(20):
            assert (await other("NOOP"))[-1].startswith("OK")
