"""What says that Bridge's own view is not settled, and when that is over (N-9): on a simulated Bridge and on counts alone."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.bridge import sync
from mcp_proton.bridge.sync import GROWS, REBUILT, RECOVERED, SHRINKS, Look, SyncWatch, sign
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.simulator import GivenMessage, GivenUser, Simulator
from mcp_proton.storage.sightings import FileSightings
from tests.contract import worlds
from tests.contract.letters import letter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.ports import Coverage

MANY = 200
BASE = Look(1000.0, 20_000, 20_001, 7, 0)


# --- counts alone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "removed", "found"),
    [
        ({}, 0, None),
        ({"messages": 20_020, "uidnext": 20_021}, 0, None),
        ({"messages": 20_064, "uidnext": 20_065}, 0, GROWS),
        ({"uidnext": 20_040}, 0, GROWS),
        ({"at": 4600.0, "messages": 20_500, "uidnext": 20_501}, 0, None),
        ({"messages": 19_000}, 0, None),
        ({"messages": 17_000}, 0, SHRINKS),
        ({"messages": 17_000}, 2_500, None),
        ({"uidvalidity": 8}, 0, REBUILT),
        ({"uidvalidity": 8, "messages": 0, "uidnext": 1}, 0, REBUILT),
        ({"uidvalidity": 0, "messages": 20_000}, 0, None),
        ({"recovered": 1}, 0, RECOVERED),
    ],
)
def test_each_sign_is_told_from_what_happens_every_day(after: dict[str, int], removed: int, found: str | None) -> None:
    """N-9: new mail, tidying up and our own deleting are no signs."""
    later = replace(replace(BASE, at=1002.0), **after)  # type: ignore[arg-type]
    assert sign(BASE, later, removed) == found


class Account:
    """An account on a clock of its own, looked at by a watch."""

    def __init__(self) -> None:
        self.now = BASE
        self.watch = SyncWatch(self.look, self.pause)

    async def look(self) -> Look:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.later(seconds)

    def later(self, seconds: float, **changed: int) -> None:
        self.now = replace(self.now, at=self.now.at + seconds, **changed)


async def test_unrest_is_over_when_nothing_was_seen_for_a_while() -> None:
    """N-9: by itself, and not before."""
    account = Account()
    assert await account.watch.unsettled() is None
    account.later(2, uidvalidity=9)
    assert await account.watch.unsettled() == REBUILT
    account.later(sync.QUIET - 1)
    assert await account.watch.unsettled() == REBUILT
    account.later(2)
    assert await account.watch.unsettled() is None


async def test_while_most_of_the_mail_is_missing_a_pause_is_not_taken_for_the_end() -> None:
    """N-9: a first sync pauses too."""
    account = Account()
    await account.watch.unsettled()
    account.later(2, uidvalidity=9, messages=64, uidnext=65)
    assert await account.watch.unsettled() == REBUILT
    account.later(sync.QUIET + 1)
    assert await account.watch.unsettled() == REBUILT
    account.later(10, messages=12_000, uidnext=12_001)
    assert await account.watch.unsettled() == REBUILT, "growing is told as what it began with"
    account.later(30, messages=20_000, uidnext=20_001)
    assert await account.watch.unsettled() == REBUILT
    account.later(sync.QUIET + 1)
    assert await account.watch.unsettled() is None


async def test_mail_that_stays_away_holds_things_up_for_minutes_and_not_for_ever() -> None:
    """N-9: the owner may have tidied up."""
    account = Account()
    await account.watch.unsettled()
    account.later(2, messages=12_000)
    assert await account.watch.unsettled() == SHRINKS
    account.later(sync.QUIET + 1)
    assert await account.watch.unsettled() == SHRINKS
    account.later(sync.LONG)
    assert await account.watch.unsettled() is None


async def test_what_we_destroyed_ourselves_is_no_sign_whenever_it_shows() -> None:
    """N-9: Bridge shows it at its next event."""
    account = Account()
    await account.watch.unsettled()
    account.watch.removed(9_000)
    account.later(5)
    assert await account.watch.unsettled() is None
    account.later(20, messages=11_000)
    assert await account.watch.unsettled() is None
    account.later(5, messages=2_000)
    assert await account.watch.unsettled() == SHRINKS, "and it counts once"


async def test_a_look_that_saw_nothing_says_nothing() -> None:
    """N-9: a refused STATUS is no empty mailbox."""

    async def nothing() -> None:
        return None

    account = Account()
    assert await SyncWatch(nothing, account.pause).unsettled() is None


# --- a Bridge --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Simulator, Connect]]:
    """A Bridge with some mail, and backends that come one after the other, as processes do."""
    monkeypatch.setattr(sync, "APART", 0.05)
    monkeypatch.setattr("mcp_proton.bridge.backend._RESTLESS", 0.0)
    messages = [GivenMessage(letter(str(number), number=number), places=("inbox",)) for number in range(MANY)]
    user = GivenUser("alice", ["alice@proton.local"], messages=messages)
    async with Simulator(users=[user], certificate=worlds.CERTIFICATE) as simulator:
        connect = Connect(simulator, tmp_path)
        try:
            yield simulator, connect
        finally:
            for backend in connect.made:
                await backend.aclose()


class Connect:
    """Makes backends that remember what those before saw."""

    def __init__(self, simulator: Simulator, folder: Path) -> None:
        self.simulator, self.folder = simulator, folder
        self.made: list[BridgeBackend] = []

    def __call__(self) -> BridgeBackend:
        backend = worlds.bridge_backend(self.simulator, sightings=FileSightings(self.folder))
        self.made.append(backend)
        return backend


async def coverage(backend: BridgeBackend) -> Coverage:
    """How far a list of INBOX can be relied upon."""
    inbox = next(box for box in await backend.mailboxes() if box.path == "INBOX")
    return (await backend.search([inbox], All(), Page(10))).coverage


async def unrest(simulator: Simulator, how: str, backend: BridgeBackend) -> None:
    """Something happens to Bridge."""
    if how == "wiped vault":
        simulator.wipe()
        simulator.sync_some(64)
    elif how == "resync":
        simulator.resync()
    elif how == "shrinking":
        simulator.lose(150)
    elif how == "first sync":
        simulator.wipe()
        simulator.sync_some(MANY)
    else:
        simulator.faults.fail_api("/mail/v4/messages/import", count=-1, status=422)
        inbox = next(box for box in await backend.mailboxes() if box.path == "INBOX")
        with suppress(MailError):
            await backend.put(inbox, letter("lost", number=999))
    with suppress(MailError):  # connections that were closed are noticed by whoever asks next
        await backend.mailboxes(fresh=True)


KINDS = {"wiped vault": REBUILT, "resync": REBUILT, "shrinking": SHRINKS, "recovered": RECOVERED, "first sync": REBUILT}


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("restarted", [False, True])
async def test_each_unrest_is_noticed_told_by_reads_and_passes(
    how: str, restarted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-9: also by a process that was not there when it happened; and it resumes by itself."""
    async with bridge(tmp_path, monkeypatch) as (simulator, connect):
        backend = connect()
        assert await backend.unsettled() is None
        before = await coverage(backend)
        assert (before.code, before.complete) == (None, True)
        await unrest(simulator, how, backend)
        if restarted:
            backend = connect()
            told = await coverage(backend)
            assert (told.code, told.complete) == ("not_synced", False), "the first list of a run says it already"
            assert KINDS[how] in (told.why or "")
        assert await backend.unsettled() == KINDS[how]
        told = await coverage(backend)
        assert (told.code, told.complete) == ("not_synced", False)
        health = await backend.health()
        assert (health.syncing, health.code, health.why) == (True, "not_synced", KINDS[how])
        assert await backend.unsettled() == KINDS[how]
        simulator.sync_some(MANY)
        await backend.unsettled()
        monkeypatch.setattr(sync, "QUIET", 0.0)
        monkeypatch.setattr(sync, "LONG", 0.0)
        assert await backend.unsettled() is None
        assert (await coverage(backend)).code is None


async def test_a_first_sync_under_way_is_told_by_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-9: where nothing was seen before."""
    async with bridge(tmp_path, monkeypatch) as (simulator, connect):
        simulator.wipe()
        simulator.sync_some(64)
        backend = connect()
        looked = backend._look

        async def growing() -> Look | None:
            now = await looked()
            simulator.sync_some(64)
            return now

        monkeypatch.setattr(backend._watch, "_look", growing)
        assert await backend.unsettled() == GROWS


async def test_a_vault_that_is_lost_in_the_middle_of_a_walk_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-9: by the next look, whatever the walk itself ended with."""
    async with bridge(tmp_path, monkeypatch) as (simulator, connect):
        backend = connect()
        assert await backend.unsettled() is None
        simulator.faults.at("before UID FETCH", action="wipe")
        with suppress(MailError):
            await coverage(backend)
        assert await backend.unsettled() == REBUILT
