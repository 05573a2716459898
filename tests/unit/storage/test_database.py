"""The store as a file: private, migrated once, shared by processes, honest when the disk is full."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import mcp_proton.storage
from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.outcome import Status
from mcp_proton.storage import migrating
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.tables import REVISIONS, metadata

from .worlds import Clock, opening

ROOT = Path(__file__).parents[3]
PRELUDE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.outcome import Status
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from tests.unit.storage.worlds import Clock, opening
database = Database(Path({place!r}), migrate)
journal = SqlJournal(database, Clock())
"""


def start(place: Path, code: str) -> subprocess.Popen[str]:
    program = PRELUDE.format(root=str(ROOT), place=str(place)) + code
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def finish(processes) -> list[str]:
    done = [asyncio.to_thread(process.communicate, timeout=50) for process in processes]
    return [out.strip() for out, _ in await asyncio.gather(*done)]


async def test_the_store_is_the_owners_alone(database, journal, place):
    await journal.open(opening())
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in place.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes


async def test_commits_are_durable_and_references_are_checked(database):
    async with database.reading() as connection:
        found = {
            name: (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


async def test_nothing_is_left_open_after_closing(database, place):
    async with database.writing():
        pass
    await database.aclose()
    assert [found.name for found in place.parent.iterdir()] == [place.name]


def test_the_steps_lead_to_the_tables_and_every_step_is_known(tmp_path):
    path = tmp_path / "store.sqlite3"
    migrating.migrate(path)
    migrating.migrate(path)
    config = Config()
    config.set_main_option("script_location", str(Path(mcp_proton.storage.__file__).parent / "migrations"))
    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(steps)) == REVISIONS
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(place):
    first = Database(place, migrating.migrate)
    async with first.writing() as connection:
        await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    await first.aclose()
    content = place.read_bytes()
    second = Database(place, migrating.migrate)
    with pytest.raises(Unavailable, match="newer version") as caught:
        async with second.reading():
            pass
    assert caught.value.code == "store_too_new"
    assert place.read_bytes() == content


async def test_a_file_that_is_no_store_is_refused(place):
    place.parent.mkdir()
    place.write_bytes(b"not a database, but long enough to look at" * 100)
    database = Database(place, migrating.migrate)
    with pytest.raises(Unavailable, match="not a database"):
        async with database.reading():
            pass


async def test_a_state_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "state").write_text("in the way")
    database = Database(tmp_path / "state" / "store.sqlite3", migrating.migrate)
    with pytest.raises(Unavailable):
        async with database.writing():
            pass


@pytest.mark.process
async def test_processes_that_start_at_once_make_one_store(place):
    code = "asyncio.run(journal.open(opening())); print('ok')"
    assert await finish([start(place, code) for _ in range(3)]) == ["ok"] * 3
    database = Database(place, migrating.migrate)
    assert len(await SqlJournal(database, Clock()).recent(owner())) == 3
    await database.aclose()


@pytest.mark.process
async def test_of_two_processes_one_wins_each_claim(database, journal, place):
    """P-37."""
    ids = []
    for _ in range(20):
        made = await journal.open(opening(status=Status.PENDING))
        await journal.advance(made.id, Status.PENDING, Status.APPROVED)
        ids.append(made.id)
    code = f"""
async def claim():
    await journal.usage([])
    sys.stdin.readline()
    won = []
    for one in {ids!r}:
        try:
            await journal.advance(one, Status.APPROVED, Status.EXECUTING)
            won.append(one)
        except MailError as error:
            assert error.code == "already_moved", error
    print(",".join(won))
asyncio.run(claim())
"""
    racers = [start(place, code) for _ in range(2)]
    one, two = (set(filter(None, out.split(","))) for out in await finish_together(racers))
    assert one | two == set(ids)
    assert not one & two


async def finish_together(processes) -> list[str]:
    done = [asyncio.to_thread(process.communicate, "go\n", timeout=50) for process in processes]
    return [out.strip() for out, _ in await asyncio.gather(*done)]


@pytest.mark.process
async def test_a_process_killed_between_intent_and_end_leaves_a_readable_record(place):
    code = """
async def act():
    made = await journal.open(opening(targets=3))
    print(made.id, flush=True)
    await asyncio.sleep(60)
asyncio.run(act())
"""
    process = start(place, code)
    operation_id = (await asyncio.to_thread(process.stdout.readline)).strip()
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)
    database = Database(place, migrating.migrate)
    journal = SqlJournal(database, Clock())
    record = await journal.read(operation_id, owner())
    assert record.status is Status.EXECUTING
    assert await journal.body(operation_id)
    assert [one.id for one in await journal.recent(owner(), statuses=(Status.EXECUTING,))] == [operation_id]
    await database.aclose()


@pytest.mark.process
async def test_a_full_disk_stops_a_side_effect_before_it_starts(database, journal, place):
    """The file may not grow any more: what a full disk does to a writer."""
    made = await journal.open(opening())
    await database.aclose()
    size = max(found.stat().st_size for found in place.parent.iterdir())
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def act():
    await journal.usage([])
    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
    acted = 0
    for _ in range(200):
        try:
            await journal.open(opening(body="x" * 20000))
            acted += 1
        except MailError as error:
            print(acted, error.status, error.code, error.retry)
            return
asyncio.run(act())
"""
    acted, *told = (await finish([start(place, code)]))[0].split()
    assert told == ["unavailable", "storage_unavailable", "True"]
    assert len(await journal.recent(owner(), limit=300)) == int(acted) + 1
    assert (await journal.read(made.id, owner())).status is Status.EXECUTING
    raw = sqlite3.connect(place)
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()


@pytest.mark.process
def test_a_process_killed_while_migrating_leaves_nothing_half_made(place):
    code = """
import os, signal
from mcp_proton.storage.opening import make_file
from alembic import op
make_file(Path({place!r}))
made = []
create = op.create_table
def dying(*args, **options):
    made.append(args[0])
    if len(made) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return create(*args, **options)
op.create_table = dying
migrate(Path({place!r}))
""".replace("{place!r}", repr(str(place)))
    process = start(place, code)
    process.communicate(timeout=50)
    assert process.returncode == -signal.SIGKILL
    raw = sqlite3.connect(place)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == []
    raw.close()
    migrating.migrate(place)
    assert place.stat().st_size > 0


async def test_all_who_open_a_new_store_at_the_same_moment_get_it(tmp_path: Path) -> None:
    """P-38: making the store takes a lock that SQLite does not wait for; those who come second do."""

    async def used(database: Database) -> None:
        async with database.writing() as connection:
            await connection.exec_driver_sql("INSERT INTO switches VALUES ('paused', hex(randomblob(8)), 1)")

    for number in range(12):
        several = [Database(tmp_path / str(number) / "store.sqlite3", migrating.migrate) for _ in range(4)]
        await asyncio.gather(*map(used, several))
        for database in several:
            await database.aclose()
