"""Named steps at which a session drops, waits, is refused or cut, and API calls that fail."""

from __future__ import annotations

import asyncio

import pytest

from mcp_proton.simulator import Certificate, GivenMessage, Simulator, WoundClock
from tests.simulator.client import Client
from tests.simulator.test_simulator import mail, uidvalidity

GIVEN = [GivenMessage(mail("one"), key="one"), GivenMessage(mail("two"), key="two")]


@pytest.fixture
async def sim(certificate: Certificate):
    async with Simulator(GIVEN, certificate=certificate, clock=WoundClock()) as simulator:
        yield simulator


async def test_a_connection_dropped_before_a_store_leaves_the_message_unread(sim: Simulator) -> None:
    sim.faults.at("before UID STORE", action="drop")
    async with Client(sim) as client:
        await client("SELECT INBOX")
        assert await client("UID STORE 1 +FLAGS (\\Seen)") == ["(connection closed)"]
    assert sim.state()["two"]["unread"] is True


async def test_a_connection_cut_after_a_store_leaves_it_read_and_half_an_answer(sim: Simulator) -> None:
    sim.faults.at("after UID STORE", action="cut")
    async with Client(sim) as client:
        await client("SELECT INBOX")
        answer = await client("UID STORE 1 +FLAGS (\\Seen)")
    assert answer[-1] == "(connection closed)"
    assert not any(line.startswith("OK") for line in answer)
    assert sim.state()["two"]["unread"] is False


async def test_a_fault_strikes_the_nth_time_and_once(sim: Simulator) -> None:
    sim.faults.at("before NOOP", n=2, action="refuse", text="not now")
    async with Client(sim) as client:
        endings = [(await client("NOOP"))[-1] for _ in range(3)]
    assert [ending.startswith("OK") for ending in endings] == [True, False, True]
    assert endings[1] == "NO not now"


async def test_a_bye_is_said_before_the_connection_ends(sim: Simulator) -> None:
    sim.faults.at("before FETCH", action="bye", text="shutting down")
    async with Client(sim) as client:
        await client("SELECT INBOX")
        assert await client("FETCH 1 FLAGS") == ["* BYE shutting down", "(connection closed)"]


async def test_a_delay_passes_on_the_simulators_clock_only(sim: Simulator) -> None:
    sim.faults.at("before NOOP", action="delay", seconds=3600)
    async with Client(sim) as client:
        noop = asyncio.create_task(client("NOOP"))
        while not sim.parked:
            await asyncio.sleep(0)
        assert not noop.done()
        sim.clock.advance(3600)
        assert (await noop)[-1].startswith("OK")


async def test_uidvalidity_can_change_in_the_middle_of_a_session(sim: Simulator) -> None:
    async with Client(sim) as client:
        before = uidvalidity(await client("SELECT INBOX"))
        sim.faults.at("before UID SEARCH", action="rebuild")
        assert (await client("UID SEARCH ALL"))[0] == "* SEARCH 1 2"
        assert uidvalidity(await client("EXAMINE INBOX")) > before


async def test_a_refused_call_is_told_with_the_text_of_the_api_and_changes_nothing(sim: Simulator) -> None:
    fault = sim.faults.fail_api("/messages/label$", count=-1, status=422, code=2011, message="Mailbox is full")
    async with Client(sim) as client:
        await client("SELECT INBOX")
        answer = (await client("UID COPY 1 Archive"))[-1]
        assert answer.startswith("NO 422 PUT https://")
        assert answer.endswith("/mail/v4/messages/label: Mailbox is full (Code=2011, Status=422)")
        sim.faults.api.remove(fault)
        assert (await client("UID COPY 1 Archive"))[-1].startswith("OK [COPYUID ")
    assert sim.state()["two"]["in"] == ["All Mail", "Archive"]


@pytest.mark.parametrize(("mode", "made"), [("drop", 1), ("after-drop", 2)])
async def test_bridge_repeats_a_broken_call_and_doubles_what_was_done(sim: Simulator, mode: str, made: int) -> None:
    sim.faults.fail_api("/messages/import$", mode=mode)
    async with Client(sim) as client:
        text = mail("appended").replace(b"\n", b"\r\n")
        client.send(b"a APPEND INBOX {%d}\r\n%b\r\n" % (len(text), text))
        assert await client.line() == "+ Ready"
        assert "APPENDUID" in await client.line()
    assert sum(one["subject"] == "appended" for one in sim.state().values()) == made


async def test_pages_of_150_ids_before_a_failure_stay_done(certificate: Certificate) -> None:
    given = [GivenMessage(mail(f"m{number}")) for number in range(310)]
    async with Simulator(given, certificate=certificate) as sim, Client(sim) as client:
        await client("SELECT INBOX")
        sim.faults.at("before UID STORE", action="refuse", n=99)
        calls = len(sim.api.calls)
        await client("UID STORE 1:* +FLAGS.SILENT (\\Seen)")
        assert sim.api.calls[calls:] == ["PUT /mail/v4/messages/read"] * 3
        await client("UID STORE 1:* -FLAGS.SILENT (\\Seen)")
        fault = sim.faults.fail_api("/messages/read$", status=400)
        fault.count = 0
        sim.faults.fail_api("/messages/read$", status=400, count=1)
        assert (await client("UID STORE 1:* +FLAGS (\\Seen)"))[-1].startswith("NO 400 PUT")
        assert all(one["unread"] for one in sim.state().values())
