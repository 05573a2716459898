"""The fault matrix: each operation × each step × each fault (N-16, A-93, A-94).

Other programs change the same mail meanwhile (A-90). Whatever goes wrong: no message is lost or doubled, none is acted upon
twice, nothing happens unapproved, and the journal explains every item as the mailbox shows it.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import CHANGING
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Status
from mcp_proton.domain.transfer import MailFiles
from mcp_proton.services.acting import batches
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.testing import MemoryAccounts

from .conftest import CATALOG, House, letter
from .faults import BOX_VERBS, Fault, FaultyAccount, FullDisk, Killed

ITEMS = 5
MESSAGE_OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "messages_flag": ("INBOX", {"add": ["$Todo"]}),
    "messages_mark_read": ("INBOX", {}),
    "messages_mark_unread": ("Sent", {}),
    "messages_star": ("INBOX", {}),
    "messages_unstar": ("Sent", {}),
    "messages_move": ("INBOX", {"to": "Archive"}),
    "messages_copy": ("INBOX", {"to": "Archive"}),
    "messages_archive": ("INBOX", {}),
    "messages_trash": ("INBOX", {}),
    "messages_spam": ("INBOX", {}),
    "messages_restore": ("Trash", {}),
    "messages_not_spam": ("Spam", {}),
    "messages_mark_deleted": ("INBOX", {}),
    "messages_destroy": ("Trash", {}),
    "drafts_discard": ("Drafts", {}),
    "labels_apply": ("INBOX", {"label": "Labels/Work"}),
    "labels_remove": ("Labels/Work", {"label": "Labels/Work"}),
}
BOX_OPERATIONS: dict[str, dict[str, Any]] = {
    "folders_create": {"folder": "New"},
    "folders_rename": {"folder": "Elsewhere", "to": "Other"},
    "folders_delete": {"folder": "Empty"},
    "labels_create": {"label": "Labels/New"},
    "labels_rename": {"label": "Labels/Work", "to": "Labels/Other"},
    "labels_delete": {"label": "Labels/Work"},
    "mailboxes_subscribe": {"mailbox": "Elsewhere"},
}
WIRE = [
    Fault(kind, when, chunk)
    for kind, when in (
        *itertools.product(("no", "lost", "bye", "killed", "fault"), ("before", "after")),
        ("timeout", "after"),
        ("rebuilt", "before"),
        ("elsewhere", "before"),
    )
    for chunk in (0, 1)
]
DISK = [("open", 0), ("begin", 0), ("begin", 1), ("note", 0), ("advance", 0)]


class Site(House):
    """A house whose account and journal fail when told to."""

    def __init__(self, files: MailFiles | None = None) -> None:
        super().__init__(personal=FaultyAccount("personal"), files=files)
        self.account: FaultyAccount = self.personal  # type: ignore[assignment]
        self.journal = FullDisk(self.clock)
        self.account.add_mailbox("Elsewhere")
        elsewhere = self.account.boxes["Elsewhere"]
        elsewhere.mailbox = replace(elsewhere.mailbox, subscribed=False)
        self.account.add_mailbox("Empty")
        self.account.add_mailbox("Labels/Work", Role.LABEL)
        self.rules(preset="autonomous")
        self.restart()

    def restart(self) -> None:
        """A new process on the same account and store."""
        self.account.fault = None
        self.account.killed = self.journal.die
        self.journal.full_at, self.journal.full, self.journal.dead = None, False, False
        self.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.personal, self.work),
                self.policies,
                self.journal,
                self.artifacts,
                self.clock,
                files=self.files,
            )
        )

    def furnish(self, mailbox: str) -> list[str]:
        """Put letters where an operation finds them; read and starred ones in Sent."""
        flags = frozenset({"seen", "flagged"}) if mailbox == "Sent" else frozenset({"other"})
        place = "INBOX" if mailbox.startswith("Labels") else mailbox
        handles = [
            self.account.add(place, letter(f"Letter {n}", message_id=f"<{n}@x>"), flags=flags) for n in range(ITEMS)
        ]
        if place is not mailbox:
            box = self.account.boxes[mailbox]
            handles = [self.account.put(box, self.account.find(one).mail) for one in handles]
        return [str(one) for one in handles]

    def mail(self) -> list[bytes]:
        """Every message, once for each place (labels are no places)."""
        return sorted(
            one.mail.raw
            for box in self.account.boxes.values()
            if box.mailbox.role is not Role.LABEL
            for one in box.mail.values()
        )


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(batches, "CHUNK", 2)
    return Site()


async def settle(site: Site) -> None:
    """The next process starts: what the last one left is settled by looking."""
    executing = [one.id for one in await site.journal.recent(owner()) if one.status is Status.EXECUTING]
    site.restart()
    site.journal.gone.update(executing)
    await site.service._recovery.all()
    await site.service._proving.all()
    await site.service.aclose()


async def check(site: Site, name: str, asked: list[str], before: list[bytes], told: dict[str, Any]) -> None:
    """The laws."""
    after, records = site.mail(), await site.journal.recent(owner())
    assert all(count == 1 for count in site.account.acted.values()), "acted upon twice"
    assert len(records) <= 1
    fates = {str(one.handle): one for record in records for one in await site.journal.fates(record.id)}
    assert set(fates) <= set(asked)
    assert all(record.status is not Status.EXECUTING for record in records)
    done = [one for one in fates.values() if one.ending is Ending.DONE]
    undone = [one for one in fates.values() if one.ending in (Ending.FAILED, Ending.SKIPPED)]
    if name == "messages_copy":
        assert set(after) == set(before)
        assert len(after) <= 2 * len(before)
    elif name in ("messages_destroy", "drafts_discard"):
        assert len(before) - len(after) == len(done), "lost, or kept against the journal"
    else:
        assert after == before, "lost or doubled"
    for fate in undone:
        assert fate.code
        still = fate.code not in ("stale_handle", "already_there", "unchanged")
        assert not still or site.account.held(fate.handle) is not None
    for fate in done:
        if fate.now is not None:
            assert site.account.held(fate.now) is not None
    assert told["status"] in {"ok", "partly_done", "not_done", "unsure", "unavailable", "stale", "killed", "refused"}
    if told["status"] == "ok" and name != "messages_copy":
        assert len(done) + len(undone) == ITEMS or not fates


@pytest.mark.parametrize("fault", WIRE, ids=str)
@pytest.mark.parametrize("name", MESSAGE_OPERATIONS)
async def test_messages(site: Site, name: str, fault: Fault) -> None:
    """416 cells."""
    mailbox, more = MESSAGE_OPERATIONS[name]
    asked = site.furnish(mailbox)
    before = site.mail()
    site.account.fault = fault
    try:
        told = await site.ask(name, messages=asked, **more)
    except Killed:
        told = {"status": "killed"}
    await settle(site)
    await check(site, name, asked, before, told)
    fates = [one for record in await site.journal.recent(owner()) for one in await site.journal.fates(record.id)]
    if name != "messages_copy":
        assert not [one for one in fates if one.ending is Ending.UNCERTAIN], "looking settles it"


@pytest.mark.parametrize("full_at", DISK, ids=lambda one: f"{one[0]}-{one[1]}")
@pytest.mark.parametrize("name", MESSAGE_OPERATIONS)
async def test_a_full_disk(site: Site, name: str, full_at: tuple[str, int]) -> None:
    """80 cells: side effects stop before they start, and what the journal could not take down is found out by looking."""
    mailbox, more = MESSAGE_OPERATIONS[name]
    asked = site.furnish(mailbox)
    before = site.mail()
    site.journal.full_at = full_at
    told = await site.ask(name, messages=asked, **more)
    begun = {("open", 0): 0, ("begin", 0): 0, ("begin", 1): 2}.get(full_at, ITEMS)
    assert len(site.account.acted) == begun
    if begun == 0:
        assert (told["status"], told["code"]) == ("unavailable", "storage_unavailable")
    await settle(site)
    await check(site, name, asked, before, told)


@pytest.mark.parametrize(
    "fault", [one for one in WIRE if one.chunk == 0 and one.kind not in ("rebuilt", "elsewhere")], ids=str
)
@pytest.mark.parametrize("name", BOX_OPERATIONS)
async def test_mailboxes(site: Site, name: str, fault: Fault) -> None:
    """77 cells."""
    site.account.fault = fault
    asked = dict(BOX_OPERATIONS[name])
    try:
        await site.ask(name, **asked)
    except Killed:
        assert fault.kind == "killed"
    await settle(site)
    assert sum(site.account.acted[verb] for verb in BOX_VERBS) <= 1
    (record,) = await site.journal.recent(owner())
    assert record.status is (Status.SUCCEEDED if site.account.acted else Status.FAILED), "looking settles it"


async def test_what_is_not_there_yet_is_not_called_undone_before_the_server_s_view_has_caught_up(site: Site) -> None:
    """A-94: an event takes up to 40 seconds; until then nobody knows."""
    site.account.lag = 45.0
    site.account.fault = Fault("killed", "before")
    with pytest.raises(Killed):
        await site.ask("folders_create", folder="New")
    await settle(site)
    (record,) = await site.journal.recent(owner())
    assert (record.status, record.code) == (Status.DELIVERY_UNKNOWN, "interrupted")
    assert (await site.ask("operations_status", operation_id=record.id))["status"] == "unsure"
    site.clock.wind(minutes=2)
    told = await site.ask("operations_status", operation_id=record.id)
    assert (told["status"], told["code"], told["state"]) == ("not_done", "not_done", "failed")


def test_every_operation_that_changes_messages_is_in_the_matrix() -> None:
    from mcp_proton.domain.operation import Shorthand
    from mcp_proton.services.door.registry import primitive

    covered = set(MESSAGE_OPERATIONS) | set(BOX_OPERATIONS)
    chunked = (one for one in CATALOG if primitive(one).chunked and not one.name.endswith("_matching"))
    changing = {one.name for one in chunked if primitive(one).effects & CHANGING}
    elsewhere = {"mailboxes_empty"}  # a snapshot, then messages_destroy
    elsewhere |= {"imports_create", "drafts_create", "drafts_update", "messages_transfer"}  # matrices of their own
    assert changing - covered == elsewhere
    assert isinstance(CATALOG.by_name["mailboxes_empty"], Shorthand)
