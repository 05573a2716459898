"""What is remembered of mail, in the store: durable, scoped to its account, gone with its record, without content (P-92)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.outgoing import Accepted
from mcp_proton.domain.plan import Plan
from mcp_proton.domain.ports import Opening
from mcp_proton.domain.sendings import Bounce, Sending, Sendings, Stage
from mcp_proton.services.in_memory.sendings import InMemory
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.sendings import SqlSendings
from mcp_proton.testing import EPOCH, FixedClock

HANDLE = Handle("personal", "abcdef", "1-1")


def sending(operation: str, **changes: object) -> Sending:
    """Return one that was begun."""
    plain = Sending(
        operation=operation,
        account="personal",
        message_id=f"<{operation}@example.org>",
        sender="me@example.org",
        recipients=("Anna@example.org", "bob@example.org"),
        wire="w",
        size=10,
        receipt="r",
        content="c",
        begun=EPOCH,
        key="k",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # a dataclass checks


class Memory:
    """A memory of sendings, and the records they belong to."""

    def __init__(self, sendings: Sendings, journal: SqlJournal) -> None:
        self.sendings, self.journal = sendings, journal

    async def operation(self) -> str:
        """Open a record."""
        opening = Opening(owner(), "mail_send", Plan(), "d", "{}", "s", Status.EXECUTING)
        return (await self.journal.open(opening)).id


@pytest.fixture(params=["sql", "memory"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    (tmp_path / "state").mkdir(mode=0o700)
    database = Database(tmp_path / "state" / "store.sqlite3", migrate)
    journal = SqlJournal(database, FixedClock())
    yield Memory(SqlSendings(database) if request.param == "sql" else InMemory(), journal)
    await journal.aclose()
    await database.aclose()


async def test_what_was_written_is_what_is_read(memory: Memory) -> None:
    first = sending(await memory.operation())
    await memory.sendings.begin(first)
    assert await memory.sendings.find(first.operation) == first
    later = replace(
        first,
        stage=Stage.FOUND,
        ended=EPOCH + timedelta(seconds=3),
        code="x",
        answers=(
            Accepted("Anna@example.org", accepted=True, code=250),
            Accepted("bob@example.org", accepted=False, code=550),
        ),
        sent=HANDLE,
        draft=HANDLE,
        stray=True,
        bounces=(Bounce("Anna@example.org", "failed", "5.1.1", HANDLE),),
    )
    await memory.sendings.write(later)
    assert await memory.sendings.find(first.operation) == later
    assert [one.recipient for one in later.refused] == ["bob@example.org"]
    assert await memory.sendings.find("op_aaaaaaaaaaaaaaaa") is None


async def test_alike_is_asked_of_one_account_and_span(memory: Memory) -> None:
    """N-2."""
    one, two = (
        sending(await memory.operation()),
        sending(await memory.operation(), begun=EPOCH + timedelta(minutes=5), key="l"),
    )
    for each in (one, two, sending(await memory.operation(), account="work")):
        await memory.sendings.begin(each)
    assert await memory.sendings.alike("personal", EPOCH, content="c") == [two, one]
    assert await memory.sendings.alike("personal", EPOCH + timedelta(minutes=1), content="c") == [two]
    assert await memory.sendings.alike("personal", EPOCH, key="k") == [one]
    assert await memory.sendings.alike("personal", EPOCH, key="nothing") == []


async def test_waiting_are_the_open_ones_of_any_age_and_all_young_ones(memory: Memory) -> None:
    old = EPOCH - timedelta(days=30)
    made = [
        sending(await memory.operation(), begun=old, stage=Stage.UNKNOWN),
        sending(await memory.operation(), begun=old, stage=Stage.NOT_SENT, stray=True),
        sending(await memory.operation(), begun=old, stage=Stage.FOUND),
        sending(await memory.operation(), stage=Stage.FOUND),
    ]
    for each in made:
        await memory.sendings.begin(each)
    found = await memory.sendings.waiting("personal", EPOCH - timedelta(days=5))
    assert {one.operation for one in found} == {made[0].operation, made[1].operation, made[3].operation}


async def test_reached_are_the_recipients_of_mail_that_may_have_left(memory: Memory) -> None:
    """N-7."""
    await memory.sendings.begin(sending(await memory.operation(), stage=Stage.ACCEPTED))
    await memory.sendings.begin(
        sending(await memory.operation(), recipients=("eve@example.org",), stage=Stage.NOT_SENT)
    )
    asked = ["ANNA@example.org", "eve@example.org", "new@example.org"]
    assert await memory.sendings.reached("personal", asked) == {"anna@example.org"}
    assert await memory.sendings.reached("work", asked) == frozenset()


async def test_how_many_came_how_far_is_counted_over_all_accounts(memory: Memory) -> None:
    """J-132."""
    for stage, account in ((Stage.FOUND, "personal"), (Stage.FOUND, "work"), (Stage.UNKNOWN, "personal")):
        await memory.sendings.begin(sending(await memory.operation(), stage=stage, account=account))
    assert dict(await memory.sendings.tally()) == {Stage.FOUND: 2, Stage.UNKNOWN: 1}
