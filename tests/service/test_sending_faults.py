"""The fault matrix of sending: each way to send × each step × each fault, on two kinds of server (N-16, P-92, A-43).

Whatever goes wrong: no mail is lost or doubled, none leaves unapproved, and the journal says of each what happened, or that it
is not known; what is not known on a server that shows what it sent is known after a look.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outcome import Status
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.testing import MemoryAccounts

from .conftest import CATALOG, House, letter
from .faults import FullDisk, Killed
from .sending_faults import FaultySender, FaultySendings, Machine, SendFault
from .test_answers import INVITATION

WAYS: dict[str, dict[str, Any]] = {
    "mail_send": {"to": ["anna@example.org"], "bcc": ["boss@example.org"], "subject": "x", "text": "y"},
    "mail_reply": {"text": "Gladly."},
    "mail_reply_all": {"text": "Gladly."},
    "mail_forward": {"to": ["anna@example.org"], "text": "For you."},
    "invitations_answer": {"response": "accepted"},
}
FAULTS = [
    *(
        SendFault(step, kind, "before")
        for step in ("identities", "capacity", "repetition")
        for kind in ("lost", "killed", "fault")
    ),
    *(
        SendFault("submit", kind, when)
        for kind in ("lost", "timeout", "killed", "fault", "no")
        for when in ("before", "after")
    ),
    *(SendFault("trace", kind, when) for kind in ("lost", "killed") for when in ("before", "after")),
    *(SendFault("append", kind, when) for kind in ("lost", "timeout", "killed", "no") for when in ("before", "after")),
    *(SendFault("set_flags", kind, when) for kind in ("lost", "killed") for when in ("before", "after")),
    *(
        SendFault(step, kind, when)
        for step in ("begin", "write")
        for kind, when in (("full", "before"), ("killed", "before"), ("killed", "after"))
    ),
]
DISK = [("open", 0), ("begin", 0), ("advance", 0)]


class Site(House):
    """A house that fails when told to. `bridge`: its server files what it sent, later, and swallows repeats."""

    def __init__(self, *, bridge: bool) -> None:
        self.machine = Machine()
        super().__init__(personal=FaultySender("personal", self.machine))
        self.journal: FullDisk = FullDisk(self.clock)  # type: ignore[assignment]
        self.sendings = FaultySendings(self.machine)
        self.rules(preset="autonomous", boundaries={"recipients": ["@example.org"]})
        outgoing = self.personal.outgoing
        outgoing.files_sent = outgoing.swallows = outgoing.lagging = self.bridge = bridge
        self.restart()

    def restart(self) -> None:
        """A new process on the same account and store."""
        self.machine.restart()
        self.journal.dead = self.journal.full = False
        self.journal.full_at = None
        self.service = MailService(
            World(
                catalog=CATALOG,
                accounts=MemoryAccounts(self.personal),
                policies=self.policies,
                journal=self.journal,
                artifacts=self.artifacts,
                clock=self.clock,
                sendings=self.sendings,
            )
        )

    def arguments(self, way: str) -> dict[str, Any]:
        """What to ask for: what answers something gets something to answer."""
        if way == "mail_send":
            return WAYS[way]
        raw = (
            INVITATION.replace("\n", "\r\n").encode()
            if way == "invitations_answer"
            else letter(to="personal@example.org")
        )
        return {"message": str(self.personal.add("INBOX", raw))} | WAYS[way]

    async def attempt(self, way: str) -> dict[str, Any] | None:
        """Ask; None where the process died of it."""
        try:
            return await self.ask(way, **self.arguments(way))
        except Killed:
            self.journal.die()
            return None

    async def settle(self) -> None:
        """Start again, wait until everything shows, look at everything."""
        self.restart()
        for record in await self.journal.recent(owner(), statuses=(Status.EXECUTING,)):
            self.journal.gone.add(record.id)
        await self.service._recover()
        self.personal.outgoing.catch_up()
        self.clock.wind(seconds=120)
        for record in await self.journal.recent(owner()):
            await self.owner_asks("operations_status", operation_id=record.id)

    @property
    def left(self) -> int:
        """How many mails left."""
        return len(self.personal.outgoing.sent)

    @property
    def filed(self) -> int:
        """How many copies are in Sent."""
        return len(self.personal.boxes["Sent"].mail)

    async def check(self, told: dict[str, Any] | None) -> None:
        """The laws."""
        assert self.machine.submitted <= 1, "handed over twice"
        assert self.filed <= self.left <= 1
        assert self.personal.boxes["Drafts"].mail == {}
        records = [one for one in await self.journal.recent(owner()) if "send" in one.effects]
        for record in records:
            match record.status:
                case Status.SUCCEEDED:
                    assert self.left == 1
                case Status.FAILED | Status.CANCELLED:
                    assert self.left == 0
                case Status.DELIVERY_UNKNOWN:
                    assert not self.bridge, "a server that shows what it sent was not believed"
                    assert self.filed == 0
                case other:
                    raise AssertionError(other)
        if self.left:
            assert records, "a mail left that the journal knows nothing of"
        if told is not None and told["status"] == "ok":
            assert self.left == 1
        if told is not None and told["status"] not in {"ok", "unsure"}:
            assert self.left == 0


@pytest.mark.parametrize("bridge", [True, False], ids=["bridge", "plain"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_whatever_fails_a_mail_leaves_once_or_not_at_all_and_the_journal_tells(
    fault: SendFault, way: str, *, bridge: bool
) -> None:
    site = Site(bridge=bridge)
    site.machine.fault = fault
    told = await site.attempt(way)
    await site.settle()
    await site.check(told)
    await site.service.aclose()


@pytest.mark.parametrize("bridge", [True, False], ids=["bridge", "plain"])
@pytest.mark.parametrize("disk", DISK, ids=str)
@pytest.mark.parametrize("way", WAYS)
async def test_a_full_disk_lets_nothing_leave_that_could_not_be_written_down(
    way: str, disk: tuple[str, int], *, bridge: bool
) -> None:
    site = Site(bridge=bridge)
    site.journal.full_at = disk
    told = await site.attempt(way)
    if disk[0] != "advance":
        assert site.left == 0
    await site.settle()
    await site.check(told)
    await site.service.aclose()


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_who_asks_again_after_a_fault_sends_no_second_mail_unless_the_first_is_known_not_to_have_left(
    fault: SendFault,
) -> None:
    """N-16: an agent that repeats itself is the ordinary case."""
    site = Site(bridge=True)
    site.machine.fault = fault
    await site.attempt("mail_send")
    site.restart()
    for record in await site.journal.recent(owner(), statuses=(Status.EXECUTING,)):
        site.journal.gone.add(record.id)
    before = site.left
    again = await site.attempt("mail_send")
    assert again is not None
    assert site.left <= 1
    if before:
        assert again["code"] in {"would_be_suppressed", "may_be_sent_already"}
    await site.service.aclose()


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_leaves_unapproved(way: str) -> None:
    site = Site(bridge=True)
    site.rules(preset="assistant")
    told = await site.attempt(way)
    assert told is not None
    assert (told["status"], site.left) == ("approval_pending", 0)
    for _ in range(2):
        assert (await site.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "approval_pending"
    await site.owner_asks("approvals_deny", operation_id=told["operation_id"])
    assert (await site.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "refused"
    site.rules(preset="reader")
    assert (await site.attempt(way) or {})["code"] == "policy_denied"
    assert site.left == 0
