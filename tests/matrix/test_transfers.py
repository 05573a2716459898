"""Transfers between a Bridge and JMAP, whose process is killed or connection lost at each step that changes something in
either account (N-13, A-94): an original is there until its copy is proved, and no copy is made twice."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outcome import SETTLED, Ending, Status
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from tests.matrix.acts import BYSTANDERS, TARGETS
from tests.matrix.house import Address, House, opened
from tests.matrix.on_jmap import on_jmap
from tests.matrix.process import Nursery, Order
from tests.matrix.world import given, on_simulator
from tests.servers.relay import Over, Passage, Step, Trap, When

if TYPE_CHECKING:
    from pathlib import Path

    from tests.matrix.world import World

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]
LETTERS = [given(key, "inbox") for key in (*TARGETS, *BYSTANDERS)]
ORDER = Order("messages_transfer", {"account": "work", "to": "archive", "move": True}, "INBOX", TARGETS, BYSTANDERS)


@dataclass(frozen=True)
class Blow:
    """Where it is hit: out of a Bridge or out of JMAP, in the account it leaves or in the one it comes to."""

    out_of: Literal["bridge", "jmap"]
    at: Literal["source", "target"]
    step: Step
    when: When
    kind: Literal["killed", "lost"]

    def __str__(self) -> str:
        return f"out of {self.out_of}, {self.kind} {self.when} {self.step} of the {self.at}"


BLOWS = [
    Blow(out_of, at, Step(verb, number), when, kind)
    for out_of, at, verb, number in (
        ("jmap", "target", "APPEND", 0),
        ("jmap", "target", "APPEND", 2),
        ("jmap", "source", "Email/set", 0),
        ("bridge", "target", "Email/import", 1),
        ("bridge", "source", "UID MOVE", 0),
    )
    for when in ("before", "after")
    for kind in ("killed", "lost")
    if kind == "killed" or (at, when) == ("target", "after")
]


def address(world: World, port: int) -> Address:
    return Address("127.0.0.1", port, world.username, world.password, 30.0, kind=world.kind)


async def subjects(house: House, account: str, path: str) -> list[str]:
    backend = house.service.world.accounts.backend(account)
    box = next(one for one in await backend.mailboxes(fresh=True) if one.path == path)
    return sorted(row.subject for row in (await backend.search([box], All(), Page(50))).rows)


@pytest.mark.parametrize("blow", BLOWS, ids=str)
async def test_an_original_stays_until_its_copy_is_proved_and_no_copy_is_made_twice(
    blow: Blow, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    store = tmp_path / "state" / "store.sqlite3"
    store.parent.mkdir(mode=0o700)
    shutil.copyfile(template, store)
    store.chmod(0o600)
    async with AsyncExitStack() as stack:
        openings = (on_simulator, on_jmap) if blow.out_of == "bridge" else (on_jmap, on_simulator)
        source, target = [
            await stack.enter_async_context(one(some)) for one, some in zip(openings, (LETTERS, []), strict=True)
        ]
        relays = [await stack.enter_async_context(world.relay()) for world in (source, target)]
        addresses = [address(world, relay.port) for world, relay in zip((source, target), relays, strict=True)]
        pid = await asyncio.to_thread(nursery.begin, store, addresses[0], ORDER, addresses[1])
        ready: dict[str, Any] = await asyncio.to_thread(nursery.hear)
        assert "refused" not in ready, ready

        async def strike(_: Passage, answer: bytes) -> bytes:
            if blow.kind == "killed":
                os.kill(pid, signal.SIGKILL)
            raise Over

        trap = Trap(blow.step, blow.when, strike)
        relays[0 if blow.at == "source" else 1].arm(trap)
        await asyncio.to_thread(nursery.go)
        while "ended" not in (told := await asyncio.to_thread(nursery.hear)):
            pass
        assert told["ended"] == (signal.SIGKILL if blow.kind == "killed" else 0)
        assert trap.sprung
        for relay in relays:
            relay.arm()
        for world in (source, target):
            world.events()
        direct = [address(world, world.port) for world in (source, target)]
        async with opened(store, direct[0], 10, direct[1]) as house:
            await settled(house, source, target)
            await check(house, ready["operation_id"])
            left = await subjects(house, "personal", "INBOX")
            again = [one for one in TARGETS if one in left]
            if again:
                handles = await house.handles("INBOX", again)
                asked = await house.ask("messages_transfer", messages=handles, **ORDER.arguments)
                await house.approve(asked["operation_id"])
                done = await house.ask("operations_resume", operation_id=asked["operation_id"])
                assert done["status"] == "ok", done
            await settled(house, source, target)
            assert await subjects(house, "work", "Archive") == sorted(TARGETS), "lost or doubled"
            assert await subjects(house, "personal", "INBOX") == sorted(BYSTANDERS)
            assert await subjects(house, "personal", "Trash") == sorted(TARGETS)


async def settled(house: House, *worlds: World) -> None:
    """What the next process does at its start, on accounts whose events have come; and once more an hour later."""
    for _ in range(2):
        await house.settle()
        house.clock.wind(minutes=70)
        for world in worlds:
            world.events()
    await house.settle()


async def check(house: House, operation: str) -> None:
    """The laws, before anybody asks again."""
    inbox, trash = await subjects(house, "personal", "INBOX"), await subjects(house, "personal", "Trash")
    copies = await subjects(house, "work", "Archive")
    assert sorted([*inbox, *trash]) == sorted([*TARGETS, *BYSTANDERS]), "an original is nowhere"
    assert len(copies) == len(set(copies)), "doubled"
    assert set(trash) <= set(copies), "trashed without a copy"
    record = await house.journal.read(operation, owner())
    assert record.status in SETTLED | {Status.PARTIALLY_SUCCEEDED}
    fates = await house.journal.fates(operation)
    assert not [one for one in fates if one.ending is Ending.UNCERTAIN], "looking settles it"
    assert len([one for one in fates if one.ending is Ending.DONE]) == len(trash)
