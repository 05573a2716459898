"""The fault matrix of transfers: every step of both accounts × every fault, full disks, and SIGKILL (N-13, N-16, A-93, A-94).

Whatever goes wrong: an original is there or its proved copy is, no copy is made twice, nothing is trashed that has no copy,
the journal says of each where it is, and asking again brings the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Ending, Status
from mcp_proton.domain.transfer import Whole
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.operations import transfers
from mcp_proton.services.transferring import bringing
from mcp_proton.testing import MemoryAccounts

from .conftest import CATALOG, letter
from .faults import Fault, FaultyAccount, Killed
from .test_faults import Site, settle

ITEMS = 5
KINDS = [*itertools.product(("no", "lost", "bye", "killed", "fault"), ("before", "after")), ("timeout", "after")]
APPENDS = [Fault(kind, when, item) for kind, when in KINDS for item in (0, 3)]
REMOVALS = [
    Fault(kind, when, chunk)
    for kind, when in [*KINDS, ("rebuilt", "before"), ("elsewhere", "before")]
    for chunk in (0, 1)
]
READS = [(side, item, kind) for side in ("source", "target") for item in (0, 3) for kind in ("lost", "killed", "gone")]
DISK = [("open", 0), ("begin", 0), ("begin", 1), ("note", 0), ("advance", 0)]


class Reading(FaultyAccount):
    """Fails at the chosen reading of a whole message."""

    unreadable: tuple[int, str] | None = None
    read = 0

    async def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        number, self.read = self.read, self.read + 1
        if self.unreadable is not None and self.unreadable[0] == number:
            kind = self.unreadable[1]
            if kind == "killed":
                self.killed()
                raise Killed
            if kind == "lost":
                raise Unavailable("the connection was lost")
            return
        async for one in super().whole(handles):
            yield one


class Sites(Site):
    """Two accounts that fail when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.personal = self.account = Reading("personal")
        self.work = self.target = Reading("work")
        self.account.add_mailbox("Elsewhere")
        for number in range(ITEMS):
            self.account.add("INBOX", letter(f"L{number}", message_id=f"<{number}@x>"))
        self.restart()

    def restart(self) -> None:
        super().restart()
        for account in (self.personal, self.work):
            if isinstance(account, Reading):
                account.fault, account.unreadable, account.killed = None, None, self.journal.die
        self.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.personal, self.work),
                self.policies,
                self.journal,
                self.artifacts,
                self.clock,
            )
        )


@pytest.fixture
def sites(monkeypatch: pytest.MonkeyPatch) -> Sites:
    monkeypatch.setattr(transfers, "STEP", 2)
    monkeypatch.setattr(bringing, "SETTLED", 60.0)
    return Sites()


async def carry(sites: Sites, *, move: bool) -> dict[str, Any]:
    handles = [f"personal.{sites.account.boxes['INBOX'].mailbox.tag}.1-{n + 1}" for n in range(ITEMS)]
    try:
        return await sites.ask("messages_transfer", messages=handles, account="work", to="archive", move=move)
    except Killed:
        return {"status": "killed"}


def subjects(account: FaultyAccount, *paths: str) -> list[str]:
    boxes = [account.boxes[path] for path in paths or account.boxes]
    return sorted(one.mail.raw.split(b"Subject: ")[1][:2].decode() for box in boxes for one in box.mail.values())


ALL = [f"L{number}" for number in range(ITEMS)]


async def check(sites: Sites, *, move: bool, meddled: bool = False) -> None:
    """The laws."""
    await settle(sites)
    sites.clock.wind(minutes=2)
    for record in await sites.journal.recent(owner()):
        await sites.service.settled(record)
    copies, originals = subjects(sites.target), subjects(sites.account)
    assert originals == ALL, "an original is nowhere"
    assert len(copies) == len(set(copies)), "doubled"
    assert subjects(sites.target, "Archive") == copies
    trashed = subjects(sites.account, "Trash")
    assert set(trashed) <= set(copies), "trashed without a copy"
    assert move or trashed == []
    assert max(sites.account.acted.values(), default=0) <= 1, "acted upon twice"
    for record in await sites.journal.recent(owner()):
        assert record.status is not Status.EXECUTING
        fates = await sites.journal.fates(record.id)
        assert not [one for one in fates if one.ending is Ending.UNCERTAIN], "looking settles it"
        assert not [one for one in fates if one.ending is Ending.FAILED and not one.code]
        done = sorted(f"L{int(one.handle.key.partition('-')[2]) - 1}" for one in fates if one.ending is Ending.DONE)
        assert set(done) <= set(copies), "called done, and is not there"
        assert not move or set(done) <= set(trashed), "called moved, and is not trashed"
    if meddled:
        return
    again = await carry(sites, move=move)
    assert again["status"] == "ok" or again.get("done", 0) + len(done_before(again)) == ITEMS, again
    assert subjects(sites.target) == ALL, "lost or doubled"
    assert subjects(sites.account, "Trash") == (ALL if move else [])


def done_before(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that an earlier attempt moved: their handles are gone, and that is said."""
    return [one for one in told.get("not_done", []) if one["code"] == "stale_handle"]


@pytest.mark.parametrize(
    ("fault", "move"), [(fault, move) for fault in APPENDS for move in (False, True) if move or fault.chunk], ids=str
)
async def test_every_append(sites: Sites, fault: Fault, move: bool) -> None:
    """33 cells; a copy is hit in the middle only."""
    sites.target.fault = fault
    told = await carry(sites, move=move)
    assert told["status"] != "ok"
    await check(sites, move=move)


@pytest.mark.parametrize("fault", REMOVALS, ids=str)
async def test_every_removal(sites: Sites, fault: Fault) -> None:
    """26 cells."""
    sites.account.fault = fault
    await carry(sites, move=True)
    await check(sites, move=True, meddled=fault.kind in ("rebuilt", "elsewhere"))


@pytest.mark.parametrize("move", [False, True], ids=["copy", "move"])
@pytest.mark.parametrize("read", READS, ids=lambda one: "-".join(map(str, one)))
async def test_every_reading(sites: Sites, read: tuple[str, int, str], move: bool) -> None:
    """24 cells: before it is put there, and when it is read again."""
    side, item, kind = read
    account = sites.account if side == "source" else sites.target
    account.unreadable = item, kind
    told = await carry(sites, move=move)
    assert told["status"] != "ok"
    await check(sites, move=move)


@pytest.mark.parametrize("move", [False, True], ids=["copy", "move"])
@pytest.mark.parametrize("full_at", DISK, ids=lambda one: f"{one[0]}-{one[1]}")
async def test_a_full_disk(sites: Sites, full_at: tuple[str, int], move: bool) -> None:
    """10 cells."""
    sites.journal.full_at = full_at
    told = await carry(sites, move=move)
    begun = {("open", 0): 0, ("begin", 0): 0, ("begin", 1): 2}.get(full_at, ITEMS)
    assert len(subjects(sites.target)) == begun
    if begun == 0:
        assert (told["status"], told["code"]) == ("unavailable", "storage_unavailable")
    await check(sites, move=move)
