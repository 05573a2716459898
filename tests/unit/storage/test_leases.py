"""One writer per account, across tasks and processes; who is gone, and who only slept (P-37, N-16)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proton.domain.errors import Conflict, Unavailable
from mcp_proton.storage.database import Database
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import GONE_SECONDS, Runner, living

ROOT = Path(__file__).parents[3]
HOLDING = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from mcp_proton.storage.database import Database
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from tests.unit.storage.worlds import Clock

async def main():
    database, clock = Database(Path({place!r}), migrate), Clock()
    async with SqlLeases(database, clock, Runner(database, clock)).hold("personal"):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@pytest.fixture
async def two(database, clock):
    runners = [Runner(database, clock) for _ in range(2)]
    yield [SqlLeases(database, clock, runner, patience=0.1) for runner in runners]
    for runner in runners:
        await runner.aclose()


async def test_a_lease_is_held_by_one_at_a_time_and_given_back(two):
    one, other = two
    async with one.hold("personal") as lease:
        await lease.check()
        with pytest.raises(Unavailable) as busy:
            async with other.hold("personal"):
                pass
        assert busy.value.code == "account_busy"
        async with other.hold("work"):
            pass
    async with other.hold("personal") as lease:
        await lease.check()


async def test_who_waits_gets_it_as_soon_as_it_is_free(database, clock):
    one, other = (SqlLeases(database, clock, Runner(database, clock), patience=10) for _ in range(2))
    order = []

    async def write(leases, name):
        async with leases.hold("personal"):
            order.append(f"{name} begins")
            await asyncio.sleep(0.05)
            order.append(f"{name} ends")

    await asyncio.gather(write(one, "a"), write(other, "b"), write(one, "c"))
    assert len(order) == 6
    assert all(order[at].split()[0] == order[at + 1].split()[0] for at in (0, 2, 4))
    await one._runner.aclose()
    await other._runner.aclose()


async def test_a_fault_inside_gives_it_back(two):
    one, other = two
    with pytest.raises(RuntimeError):
        async with one.hold("personal"):
            raise RuntimeError
    async with other.hold("personal"):
        pass


async def test_who_slept_too_long_finds_the_lease_taken(two, clock):
    """The fence: a laptop that slept through its own death does not go on writing."""
    one, other = two
    async with one.hold("personal") as lease:
        clock.wind(seconds=GONE_SECONDS + 1)
        async with other.hold("personal") as taken:
            with pytest.raises(Conflict) as lost:
                await lease.check()
            assert lost.value.code == "lease_lost"
            await taken.check()
        await asyncio.sleep(0)


async def test_giving_back_a_lost_lease_does_not_take_the_other_s_away(two, clock):
    one, other = two
    first = one.hold("personal")
    await first.__aenter__()
    clock.wind(seconds=GONE_SECONDS + 1)
    async with other.hold("personal") as taken:
        await first.__aexit__(None, None, None)
        await taken.check()


async def test_a_closed_process_leaves_nothing_behind(database, clock):
    runner = Runner(database, clock)
    async with SqlLeases(database, clock, runner).hold("personal"), database.reading() as connection:
        assert await living(connection, clock.now()) == {runner.id}
    await runner.aclose()
    async with database.reading() as connection:
        assert await living(connection, clock.now()) == frozenset()


@pytest.mark.process
async def test_a_killed_process_is_known_to_be_gone_at_once(place, clock):
    """The lease of a process that lives is respected; that of a killed one is free without any waiting."""
    place.parent.mkdir(mode=0o700)
    migrate(place)
    program = HOLDING.format(root=str(ROOT), place=str(place))
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    database = Database(place, migrate)
    runner = Runner(database, clock)
    try:
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
        with pytest.raises(Unavailable):
            async with SqlLeases(database, clock, runner, patience=0.1).hold("personal"):
                pass
        holder.kill()
        await asyncio.to_thread(holder.wait)
        async with SqlLeases(database, clock, runner, patience=0.1).hold("personal") as lease:
            await lease.check()
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()
        await runner.aclose()
        await database.aclose()
