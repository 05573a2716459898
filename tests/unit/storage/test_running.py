"""How far an operation has come, who runs it, and what the next process finds (P-33, P-37, P-62, A-94)."""

from __future__ import annotations

import sqlite3

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

import mcp_proton.storage
from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.outcome import Ending, Fate, Proof, Status
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import GONE_SECONDS
from mcp_proton.storage.tables import OPEN_END

from .worlds import agent, handle, opening


@pytest.fixture
async def other(database, clock):
    """The journal as another process has it."""
    journal = SqlJournal(database, clock)
    yield journal
    await journal.aclose()


def uncertain(number: int) -> Fate:
    return Fate(handle(number), Ending.UNCERTAIN, "outcome_unknown", identity=f"id{number}")


async def test_an_intent_is_written_with_the_fates_before_it(journal):
    record = await journal.open(opening(targets=5, background=True, outline='{"to": "archive"}'))
    assert (record.total, record.begun, record.background, record.outline) == (5, 0, True, '{"to": "archive"}')
    assert await journal.begin(record.id, 2, (), [uncertain(0), uncertain(1)])
    done = [Fate.done(handle(0), handle(9), proof=Proof.COPYUID, identity="id0"), Fate.done(handle(1))]
    assert await journal.begin(record.id, 4, done, [uncertain(2)])
    now = await journal.read(record.id, agent())
    assert (now.begun, now.counts) == (4, {"done": 2, "uncertain": 1})
    assert list(await journal.fates(record.id)) == [*done, uncertain(2)]
    assert list(await journal.fates(record.id, 1, 1)) == [done[1]]


async def test_one_that_is_asked_to_stop_begins_nothing_more(journal, other):
    """P-62: the command line stops what a server does."""
    record = await journal.open(opening(targets=5))
    await journal.begin(record.id, 2)
    assert (await other.stop(record.id)).stopping
    assert not await journal.begin(record.id, 4, [Fate.done(handle(0))], [uncertain(2)])
    now = await journal.read(record.id, agent())
    assert (now.begun, now.counts) == (2, {"done": 1})


async def test_what_runs_in_a_living_process_is_not_adopted(journal, other):
    record = await journal.open(opening(targets=2))
    assert await other.adopt() == ()
    assert await other.adopt(record.id) == ()
    assert await journal.begin(record.id, 1)


async def test_what_a_gone_process_ran_is_given_to_one_other(journal, other, database, clock):
    third = SqlJournal(database, clock)
    record = await journal.open(opening(targets=2))
    waiting = await journal.open(opening(status=Status.PENDING))
    clock.wind(seconds=GONE_SECONDS + 1)
    adopted = [*(await other.adopt()), *(await third.adopt())]
    assert [one.id for one in adopted] == [record.id]
    with pytest.raises(Conflict) as late:
        await journal.begin(record.id, 1, [Fate.done(handle(0))])
    assert late.value.code == "taken_over"
    with pytest.raises(Conflict):
        await journal.advance(record.id, Status.EXECUTING, Status.SUCCEEDED)
    assert (await journal.read(record.id, owner())).counts == {}
    assert (await journal.read(waiting.id, owner())).status is Status.PENDING
    await third.aclose()


async def test_a_process_that_closes_leaves_its_work_to_the_next(database, clock, other):
    first = SqlJournal(database, clock)
    record = await first.open(opening(targets=2, background=True))
    await first.aclose()
    assert [one.id for one in await other.adopt()] == [record.id]
    assert await other.begin(record.id, 2)


async def test_one_of_its_own_is_adopted_by_name_only(journal):
    """A process that knows that it does not run an operation any more settles it like a stranger's."""
    record = await journal.open(opening(targets=2))
    assert await journal.adopt() == ()
    assert [one.id for one in await journal.adopt(record.id)] == [record.id]


async def test_open_ends_are_found_by_account_without_looking_at_the_rest(journal, database):
    for number in range(3):
        record = await journal.open(opening(targets=1))
        ending = uncertain(0) if number == 1 else Fate.done(handle(0), proof=Proof.SEEN)
        await journal.note(record.id, [ending])
        await journal.advance(record.id, Status.EXECUTING, Status.PARTIALLY_SUCCEEDED)
    found = await journal.unproved("personal")
    assert len(found) == 1
    assert await journal.unproved("work") == []
    async with database.reading() as connection:
        plan = await connection.execute(text(f"EXPLAIN QUERY PLAN SELECT record FROM fates WHERE {OPEN_END}"))
        assert "fates_open" in str(plan.all())


async def test_open_ends_are_those_of_one_operation(journal):
    ids = []
    for number in range(2):
        record = await journal.open(opening(targets=3))
        ids.append(record.id)
        seen = Fate.done(handle(9), proof=Proof.SEEN)
        await journal.note(record.id, [uncertain(number), Fate.done(handle(5 + number), proof=Proof.COPYUID), seen])
    assert [fate.handle for fate in await journal.open_ends(ids[1])] == [handle(1), handle(6)]
    assert (await journal.read(ids[0], owner())).proofs == {"copyuid": 1, "seen": 1}


async def test_an_operation_with_uncertain_items_keeps_its_request_until_they_are_settled(journal):
    record = await journal.open(opening(targets=1))
    await journal.note(record.id, [uncertain(0)])
    await journal.advance(record.id, Status.EXECUTING, Status.PARTIALLY_SUCCEEDED)
    assert await journal.body(record.id)
    await journal.note(record.id, [Fate.done(handle(0))])
    settled = await journal.advance(record.id, Status.PARTIALLY_SUCCEEDED, Status.SUCCEEDED)
    assert settled.counts == {"done": 1}


async def test_a_store_of_the_first_release_is_taken_over_with_all_it_holds(place, clock):
    """Upgrades keep the journal."""
    place.parent.mkdir(mode=0o700)
    config = Config()
    config.set_main_option("script_location", str(mcp_proton.storage.__path__[0]) + "/migrations")
    engine = create_engine(f"sqlite:///{place}")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.commit()
    engine.dispose()
    with sqlite3.connect(place) as raw:
        raw.execute(
            "INSERT INTO records (id, caller, operation, accounts, effects, digest, status, created, summary) VALUES "
            "('op_aaaaaaaaaaaaaaaa', 'hermes', 'messages_get', '[\"personal\"]', '[\"organize\"]', 'd', 'executing', 1, 's')"
        )
        raw.execute(
            "INSERT INTO fates (record, handle, ending) VALUES ('op_aaaaaaaaaaaaaaaa', 'personal.abcdef.k1', 'done')"
        )
    raw.close()
    database = Database(place, migrate)
    journal = SqlJournal(database, clock)
    (record,) = await journal.adopt()
    assert (record.id, record.total, record.background, record.counts) == ("op_aaaaaaaaaaaaaaaa", 0, False, {"done": 1})
    assert (await journal.fates(record.id))[0].proof is None
    await journal.aclose()
    await database.aclose()
