"""One cell of the matrix: an act, the step at which something goes wrong, and what goes wrong; and how it is played."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outcome import Fate, Record
from tests.matrix.acts import ACTS, BYSTANDERS, TARGETS, UNSUPPORTED, Act, Acts, BoxAct
from tests.matrix.house import Address, House, opened
from tests.matrix.process import Nursery, Order
from tests.matrix.world import Opening, Truth, World, given, on_simulator
from tests.servers.relay import Over, Passage, Step, Trap, When

FAULTS = (
    "lost",
    "cut",
    "no",
    "refused by Proton",
    "done and refused by Proton",
    "bye",
    "timeout",
    "rebuilt",
    "elsewhere",
    "elsewhere, told",
    "killed",
    "disk full",
)
SILENCE = {"bridge": 1.0, "jmap": 3.0}
"""how long the process waits for an answer that a fault keeps from it, in seconds; a JMAP server shares our own loop"""


@dataclass(frozen=True)
class Cell:
    """What goes wrong, and where. `fault` None: nothing. `acts` are those of the kind of server it is played on."""

    act: str
    fault: str | None = None
    when: When = "before"
    step: Step = field(default_factory=lambda: Step("NOOP", 0))
    acts: Acts = field(default_factory=lambda: ACTS, compare=False, repr=False)

    @property
    def doing(self) -> Act | BoxAct:
        """What is done."""
        return self.acts.get(self.act) or UNSUPPORTED[self.act]

    def __str__(self) -> str:
        return f"{self.act}-{self.fault}-{self.when} {self.step}" if self.fault else f"{self.act}-nothing"


@dataclass
class Played:
    """What was seen. `again` is what a second resume said, `after` how the account was before that, `end` after it."""

    ready: dict[str, Any]
    answer: dict[str, Any] | None = None
    killed: bool = False
    sprung: bool = False
    steps: list[Step] = field(default_factory=list)
    before: Mapping[str, Truth] = field(default_factory=dict)
    after: Mapping[str, Truth] = field(default_factory=dict)
    end: Mapping[str, Truth] = field(default_factory=dict)
    boxes_before: frozenset[str] = frozenset()
    boxes_after: frozenset[str] = frozenset()
    record: Record | None = None
    never: Record | None = None
    fates: dict[str, Fate] = field(default_factory=dict)
    again: dict[str, Any] = field(default_factory=dict)


def letters(act: Act | BoxAct) -> list[Any]:
    """What the account holds: the targets, what nobody may touch, and what is there anyway."""
    places, unread = (act.places, act.unread) if isinstance(act, Act) else (("inbox", "Labels/Red"), True)
    return [
        *(given(key, *places, unread=unread) for key in TARGETS),
        *(given(key, "inbox", "Labels/Red") for key in BYSTANDERS),
        given("kept in Archive", "archive", "starred"),
        given(
            "kept in Spam" if "spam" not in places else "kept in Sent",
            "sent" if "spam" in places else "inbox",
            kind="sent",
        ),
    ]


def order(act: Act | BoxAct) -> Order:
    """What the process is told."""
    if isinstance(act, BoxAct):
        return Order(act.operation, act.arguments, bystanders=BYSTANDERS)
    keys = TARGETS if act.names else ()
    return Order(act.operation, act.arguments, act.mailbox, keys, BYSTANDERS)


async def play(cell: Cell, nursery: Nursery, template: Path, folder: Path, opening: Opening = on_simulator) -> Played:
    """One process asks, is approved, and is hit while it acts; another comes after it and settles what it left."""
    act = cell.doing
    folder.mkdir(mode=0o700, exist_ok=True)
    store = folder / "store.sqlite3"
    shutil.copyfile(template, store)
    store.chmod(0o600)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(opening(letters(act)))
        relay = await stack.enter_async_context(server.relay())
        silence = SILENCE[server.kind] if cell.fault == "timeout" else 90.0
        guarded = isinstance(act, Act) and act.guarded
        address = Address("127.0.0.1", relay.port, server.username, server.password, silence, guarded, server.kind)
        before, boxes = server.truth(), server.mailboxes()
        pid = await asyncio.to_thread(nursery.begin, store, address, order(act))
        played = Played(await asyncio.to_thread(nursery.hear), before=before, boxes_before=boxes)
        if "refused" in played.ready:
            await asyncio.to_thread(nursery.hear)
            return played
        trap = None if cell.fault is None else Trap(cell.step, cell.when, hit(cell, server, pid))
        relay.arm(trap)
        await asyncio.to_thread(nursery.go)
        while "ended" not in (told := await asyncio.to_thread(nursery.hear)):
            played.answer = told["answer"]
        played.killed = told["ended"] == signal.SIGKILL
        assert told["ended"] in (0, signal.SIGKILL), "the process had a fault of its own"
        played.steps, played.sprung = relay.steps, trap is not None and trap.sprung
        relay.arm()
        await _settled(played, store, address, server)
    return played


async def _settled(played: Played, store: Path, address: Address, server: World) -> None:
    """The next process, ten minutes later, on an account whose events have come."""
    direct = replace(address, host=server.host, port=server.port, silence=90.0)
    server.mend()
    server.events()
    async with opened(store, direct, minutes=10) as house:
        await house.settle()
        house.clock.wind(minutes=70)
        server.events()
        await house.settle()
        server.events()
        played.after, played.boxes_after = server.truth(), server.mailboxes()
        await _recorded(played, house)
        played.again = await house.ask("operations_resume", operation_id=played.ready["operation_id"])
    server.events()
    played.end = server.truth()


async def _recorded(played: Played, house: House) -> None:
    played.record = await house.journal.read(played.ready["operation_id"], owner())
    played.never = await house.journal.read(played.ready["never"], owner())
    played.fates = {str(fate.handle): fate for fate in await house.journal.fates(played.record.id)}


def hit(cell: Cell, server: World, pid: int) -> Any:
    """What happens at the step."""

    async def strike(passage: Passage, answer: bytes) -> bytes:
        match cell.fault:
            case "lost":
                raise Over
            case "cut":
                passage.client_writer.write(passage.torn(answer))
                raise Over
            case "no":
                return passage.refused(answer)
            case "bye":
                passage.client_writer.write(passage.goodbye())
                raise Over
            case "timeout":
                await passage.client_gone()
                passage.is_late = True
                if answer:
                    raise Over
            case "refused by Proton" | "done and refused by Proton":
                server.refuse(done=cell.fault.startswith("done"))
            case "rebuilt":
                server.rebuild()
            case "elsewhere" | "elsewhere, told":
                server.phone(TARGETS[0], cell.doing.elsewhere)
                if cell.fault == "elsewhere, told":
                    server.events()
            case "killed":
                os.kill(pid, signal.SIGKILL)
                raise Over
            case "disk full":
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        return answer

    return strike
