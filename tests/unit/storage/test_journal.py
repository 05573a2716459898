"""The journal: what was asked and what became of it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, Defect, NotFound, OverLimit, Unavailable
from mcp_proton.domain.limits import Limit
from mcp_proton.domain.outcome import MOVES, Ending, Fate, Status
from mcp_proton.storage.journals import glances
from mcp_proton.storage.journals.journal import SqlJournal

from .worlds import START, agent, handle, opening


async def reach(journal, status):
    """Open a record and take it to a status along the legal moves."""
    ways = {Status.PENDING: (), Status.EXECUTING: ()}
    queue = list(ways)
    while status not in ways:
        here = queue.pop(0)
        for after in sorted(MOVES[here]):
            if after not in ways:
                ways[after] = (*ways[here], (here, after))
                queue.append(after)
    steps = ways[status]
    first = steps[0][0] if steps else status
    record = await journal.open(opening(status=first))
    for before, after in steps:
        record = await journal.advance(record.id, before, after)
    return record


async def test_an_intent_is_read_back_as_it_was_written(journal):
    made = await journal.open(opening(status=Status.PENDING, expires=START + timedelta(minutes=15)))
    assert re.fullmatch(r"op_[a-z2-7]{16}", made.id)
    assert await journal.read(made.id, agent()) == made
    assert (made.caller, made.operation, made.accounts, made.effects) == (
        "hermes",
        "messages_move",
        frozenset({"personal"}),
        frozenset({Effect.ORGANIZE}),
    )
    assert (made.status, made.created, made.expires) == (Status.PENDING, START, START + timedelta(minutes=15))
    assert await journal.body(made.id) == opening().body


async def test_a_record_is_its_callers_and_the_owners(journal):
    """P-31, P-41."""
    made = await journal.open(opening())
    with pytest.raises(NotFound) as foreign:
        await journal.read(made.id, agent("goose"))
    with pytest.raises(NotFound) as missing:
        await journal.read("op_aaaaaaaaaaaaaaaa", agent("goose"))
    assert str(foreign.value) == str(missing.value)
    assert (await journal.read(made.id, owner())).id == made.id
    assert await journal.recent(agent("goose")) == []
    assert [one.id for one in await journal.recent(owner())] == [made.id]


@pytest.mark.parametrize("before", list(Status))
@pytest.mark.parametrize("after", list(Status))
async def test_only_legal_moves_are_made(journal, before, after):
    """P-33."""
    record = await reach(journal, before)
    if after in MOVES[before]:
        assert (await journal.advance(record.id, before, after)).status is after
    else:
        with pytest.raises(Conflict):
            await journal.advance(record.id, before, after)
        assert (await journal.read(record.id, owner())).status is before


async def test_a_claim_is_won_once(journal):
    """P-37."""
    record = await reach(journal, Status.APPROVED)
    claims = [journal.advance(record.id, Status.APPROVED, Status.EXECUTING) for _ in range(8)]
    found = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(not isinstance(one, Exception) for one in found) == 1
    assert sum(isinstance(one, Conflict) for one in found) == 7


async def test_an_approval_that_ran_out_is_never_claimed(journal, clock):
    """P-34."""
    record = await journal.open(opening(status=Status.PENDING, expires=START + timedelta(minutes=15)))
    await journal.advance(record.id, Status.PENDING, Status.APPROVED)
    clock.wind(minutes=15)
    with pytest.raises(Conflict) as caught:
        await journal.advance(record.id, Status.APPROVED, Status.EXECUTING)
    assert caught.value.code == "approval_expired"


async def test_what_waited_too_long_expires(journal, clock):
    waiting = await journal.open(opening(status=Status.PENDING, expires=START + timedelta(minutes=15)))
    lasting = await journal.open(opening(status=Status.PENDING, expires=START + timedelta(hours=1)))
    assert await journal.expire(clock.now()) == 0
    clock.wind(minutes=15)
    assert await journal.expire(clock.now()) == 1
    assert (await journal.read(waiting.id, owner())).status is Status.EXPIRED
    assert (await journal.read(lasting.id, owner())).status is Status.PENDING
    with pytest.raises(NotFound):
        await journal.body(waiting.id)


async def test_the_record_never_holds_content_and_the_payload_goes_at_settlement(journal, place):
    """P-96."""
    made = await journal.open(opening(body='{"subject": "the-hidden-words"}'))
    assert "the-hidden-words" not in repr(await journal.read(made.id, owner()))
    await journal.advance(made.id, Status.EXECUTING, Status.SUCCEEDED)
    with pytest.raises(NotFound):
        await journal.body(made.id)
    with sqlite3.connect(place) as raw:
        assert raw.execute("SELECT count(*) FROM payloads").fetchone() == (0,)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    assert b"the-hidden-words" not in place.read_bytes()


async def test_a_payload_is_kept_as_long_as_the_owner_wants(database, clock):
    journal = SqlJournal(database, clock, timedelta(days=2))
    made = await journal.open(opening())
    await journal.advance(made.id, Status.EXECUTING, Status.FAILED)
    clock.wind(days=1)
    await journal.purge(timedelta(days=90))
    assert await journal.body(made.id)
    clock.wind(days=1)
    await journal.purge(timedelta(days=90))
    with pytest.raises(NotFound):
        await journal.body(made.id)


async def test_a_payload_stays_while_an_item_is_uncertain(journal):
    made = await journal.open(opening(targets=2))
    await journal.note(made.id, [Fate.done(handle(0)), Fate(handle(1), Ending.UNCERTAIN)])
    await journal.advance(made.id, Status.EXECUTING, Status.PARTIALLY_SUCCEEDED)
    assert await journal.body(made.id)
    other = await journal.open(opening(targets=2))
    await journal.note(other.id, [Fate.done(handle(0)), Fate(handle(1), Ending.FAILED)])
    await journal.advance(other.id, Status.EXECUTING, Status.PARTIALLY_SUCCEEDED)
    with pytest.raises(NotFound):
        await journal.body(other.id)


async def test_settled_records_go_after_the_owners_time_and_others_never(journal, clock):
    settled = await reach(journal, Status.SUCCEEDED)
    unknown = await reach(journal, Status.DELIVERY_UNKNOWN)
    running = await reach(journal, Status.EXECUTING)
    clock.wind(days=91)
    assert await journal.purge(timedelta(days=90)) == 1
    assert {one.id for one in await journal.recent(owner())} == {unknown.id, running.id}
    assert settled.id not in {one.id for one in await journal.recent(owner())}


async def test_fates_are_kept_in_order_and_a_later_one_replaces_the_earlier(journal):
    made = await journal.open(opening(targets=3))
    await journal.note(made.id, [Fate.done(handle(0), now=handle(9)), Fate(handle(1), Ending.UNCERTAIN)])
    await journal.note(made.id, [Fate(handle(2), Ending.FAILED, "stale_handle", "it is gone")])
    await journal.note(made.id, [Fate.done(handle(1))])
    assert list(await journal.fates(made.id)) == [
        Fate.done(handle(0), now=handle(9)),
        Fate.done(handle(1)),
        Fate(handle(2), Ending.FAILED, "stale_handle", "it is gone"),
    ]
    assert (await journal.read(made.id, owner())).counts == {"done": 2, "failed": 1}


async def test_the_latest_records_come_first_and_by_status(journal):
    made = [await journal.open(opening(status=Status.PENDING if n % 2 else Status.EXECUTING)) for n in range(6)]
    assert [one.id for one in await journal.recent(agent(), limit=2)] == [made[5].id, made[4].id]
    waiting = await journal.recent(agent(), statuses=(Status.PENDING,))
    assert [one.id for one in waiting] == [made[5].id, made[3].id, made[1].id]


async def test_a_read_never_waits_and_is_in_the_journal_soon(journal):
    for _ in range(100):
        journal.glance(opening(Effect.READ), Status.SUCCEEDED)
    async with asyncio.timeout(20):
        while len(await journal.recent(agent(), limit=200)) < 100:
            await asyncio.sleep(0.02)
    found = await journal.recent(agent(), limit=200)
    assert len(found) == 100
    assert {one.status for one in found} == {Status.SUCCEEDED}


async def test_how_long_a_read_waits_for_its_line_is_known(journal, clock):
    """J-132."""
    assert journal.lag == 0
    journal.glance(opening(Effect.READ), Status.SUCCEEDED)
    clock.wind(seconds=3)
    assert journal.lag == 3
    await journal.usage(())
    assert journal.lag == 0


async def test_queued_reads_are_written_on_closing(database, clock):
    journal = SqlJournal(database, clock)
    for _ in range(1_234):
        journal.glance(opening(Effect.READ), Status.SUCCEEDED)
    await journal.aclose()
    assert len(await SqlJournal(database, clock).recent(agent(), limit=2_000)) == 1_234


async def test_reads_that_come_while_lines_are_written_wait_for_the_next_time(database, monkeypatch):
    """Else one batch under load would never end, and each line have a transaction of its own."""
    written, whole, queue = [], glances.Glances._write, glances.Glances(database)

    async def busy(self, batch):
        written.append(len(batch))
        if len(written) < 5:
            queue.add(opening(Effect.READ), Status.SUCCEEDED, START)
        await whole(self, batch)

    monkeypatch.setattr(glances.Glances, "_write", busy)
    for _ in range(glances.BATCH + 1):
        queue.add(opening(Effect.READ), Status.SUCCEEDED, START)
    await queue.flush()
    assert written == [glances.BATCH, 1]
    assert queue.oldest is not None
    await queue.aclose()
    assert sum(written) == glances.BATCH + 3


def numbered(queue):
    """Add so many lines to a queue, each a second after the one before."""
    lines = iter(range(100))

    def add(count):
        for _ in range(count):
            queue.add(opening(Effect.READ), Status.SUCCEEDED, START + timedelta(seconds=next(lines)))

    return add


async def test_a_queue_that_fills_up_while_lines_are_written_drops_its_oldest_and_no_other(
    database, clock, monkeypatch
):
    monkeypatch.setattr(glances, "_MOST_WAITING", 4)
    monkeypatch.setattr(glances, "BATCH", 2)
    written, whole, queue = [], glances.Glances._write, glances.Glances(database)
    add = numbered(queue)

    async def crowded(self, batch):
        if not written:
            add(3)
        written.extend((now - START).seconds for *_, now in batch)
        await whole(self, batch)

    monkeypatch.setattr(glances.Glances, "_write", crowded)
    add(4)
    await queue.flush()
    await queue.flush()
    assert written == [0, 1, 3, 4, 5, 6]
    await queue.aclose()


@pytest.mark.parametrize(("meanwhile", "kept"), [(0, [0, 1, 2]), (2, [1, 2, 3, 4]), (4, [3, 4, 5, 6])])
async def test_lines_the_store_did_not_take_wait_in_their_place(database, clock, monkeypatch, meanwhile, kept):
    monkeypatch.setattr(glances, "_MOST_WAITING", 4)
    written, whole, queue = [], glances.Glances._write, glances.Glances(database)
    add = numbered(queue)

    async def away(self, batch):
        add(meanwhile)
        raise Unavailable("the store is busy")

    async def there(self, batch):
        written.extend((now - START).seconds for *_, now in batch)
        await whole(self, batch)

    add(3)
    monkeypatch.setattr(glances.Glances, "_write", away)
    with pytest.raises(Unavailable):
        await queue.flush()
    assert queue.oldest == START + timedelta(seconds=kept[0])
    monkeypatch.setattr(glances.Glances, "_write", there)
    await queue.flush()
    assert written == kept
    await queue.aclose()


async def test_closing_does_not_cut_short_what_is_being_written(database, clock, monkeypatch):
    """A write that is cancelled in the middle can keep the store's lock from the one after it."""
    monkeypatch.setattr(glances, "_DELAY", 0.0)
    tried, begun = [], asyncio.Event()
    whole = glances.Glances._write

    async def slow(self, batch):
        tried.append(len(batch))
        begun.set()
        await asyncio.sleep(0.05)
        await whole(self, batch)

    monkeypatch.setattr(glances.Glances, "_write", slow)
    queue = glances.Glances(database)
    queue.add(opening(Effect.READ), Status.SUCCEEDED, START)
    await begun.wait()
    await queue.aclose()
    assert tried == [1]
    assert len(await SqlJournal(database, clock).recent(agent())) == 1


LIMIT = Limit(Effect.ORGANIZE, 10, 3600, "hermes", None, "boundaries")


async def test_what_was_done_counts_against_a_limit_for_its_span(journal, clock):
    """P-18."""
    made = await journal.open(opening(targets=7, limits=(LIMIT,)))
    assert await journal.usage([LIMIT]) == {LIMIT: 7}
    assert await journal.usage([LIMIT], but=made.id) == {LIMIT: 0}
    assert await journal.usage([replace(LIMIT, client="goose")]) == {replace(LIMIT, client="goose"): 0}
    assert await journal.usage([replace(LIMIT, account="work")]) == {replace(LIMIT, account="work"): 0}
    assert await journal.usage([replace(LIMIT, client=None, account="personal")]) == {
        replace(LIMIT, client=None, account="personal"): 7
    }
    with pytest.raises(OverLimit):
        await journal.open(opening(targets=4, limits=(LIMIT,)))
    await journal.open(opening(targets=3, limits=(LIMIT,)))
    clock.wind(hours=1)
    assert await journal.usage([LIMIT]) == {LIMIT: 0}


@pytest.mark.parametrize("ending", [Status.DENIED, Status.EXPIRED, Status.CANCELLED])
async def test_what_never_happened_gives_its_place_back(journal, ending):
    made = await journal.open(opening(targets=7, status=Status.PENDING, limits=(LIMIT,)))
    assert await journal.usage([LIMIT]) == {LIMIT: 7}
    await journal.advance(made.id, Status.PENDING, ending)
    assert await journal.usage([LIMIT]) == {LIMIT: 0}


async def test_what_was_tried_and_failed_keeps_counting(journal):
    made = await journal.open(opening(targets=7, limits=(LIMIT,)))
    await journal.advance(made.id, Status.EXECUTING, Status.CANCELLED)
    assert await journal.usage([LIMIT]) == {LIMIT: 7}


async def test_two_askers_never_share_the_last_place(journal):
    tries = [journal.open(opening(targets=2, limits=(LIMIT,))) for _ in range(12)]
    found = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, OverLimit) for one in found) == 7
    assert await journal.usage([LIMIT]) == {LIMIT: 10}


async def test_reads_count_only_where_the_owner_limits_reading(journal):
    limit = Limit(Effect.READ, 3, 3600, None, None, "boundaries")
    journal.glance(opening(Effect.READ), Status.SUCCEEDED)
    assert await journal.usage([limit]) == {limit: 0}
    journal.glance(opening(Effect.READ, limits=(limit,)), Status.SUCCEEDED)
    journal.glance(opening(Effect.READ, limits=(limit,)), Status.DENIED)
    assert await journal.usage([limit]) == {limit: 1}


async def test_a_missing_operation_is_not_found_by_every_question(journal):
    with pytest.raises(NotFound):
        await journal.body("op_aaaaaaaaaaaaaaaa")
    with pytest.raises(NotFound):
        await journal.advance("op_aaaaaaaaaaaaaaaa", Status.PENDING, Status.APPROVED)
    assert list(await journal.fates("op_aaaaaaaaaaaaaaaa")) == []


async def test_a_fate_of_no_operation_is_a_defect(journal):
    with pytest.raises(Defect):
        await journal.note("op_aaaaaaaaaaaaaaaa", [Fate.done(handle(0))])
