"""Messages between an account of each kind and another one: there and back, proved, and only then trashed (N-1, N-13)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World as ServiceWorld
from mcp_proton.services.presenting.answers import answer
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccount, MemoryAccounts, MemoryArtifacts, MemoryJournal
from tests.contract.letters import letter, with_attachment
from tests.contract.worlds import DAY, Mail, box, newest

if TYPE_CHECKING:
    from tests.contract.worlds import World

CATALOG = registry.load()
AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
PICTURE = bytes(range(256)) * 2_000
ALTERNATIVE = letter("both").replace(
    b"Content-Type: text/plain; charset=utf-8", b'Content-Type: multipart/alternative; boundary="b"'
)


def letters() -> list[Mail]:
    """A plain one, one in another charset, one with an attachment, one with HTML beside its text."""
    latin = letter("latin", number=2, body="déjà vu\n" * 5).decode()
    alternative = (
        letter("both", number=4, body="x")
        .replace(b"text/plain; charset=utf-8", b'multipart/alternative; boundary="bb"')
        .partition(b"\r\n\r\n")[0]
        + b"\r\n\r\n--bb\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n"
        + b"--bb\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>hello</p>\r\n--bb--\r\n"
    )
    return [
        Mail(letter("plain", number=1), DAY + timedelta(minutes=1), frozenset({"seen"})),
        Mail(latin.encode(), DAY + timedelta(minutes=2), frozenset({"seen", "flagged"})),
        Mail(with_attachment(PICTURE, name="big.bin"), DAY + timedelta(minutes=3)),
        Mail(alternative, DAY + timedelta(minutes=4)),
    ]


class Office:
    """The whole service before an account of the kind under test, and another one in memory."""

    def __init__(self, world: World) -> None:
        self.world, self.other, self.clock = world, MemoryAccount("other"), FixedClock()
        document = {"preset": "autonomous"}
        self.service = MailService(
            ServiceWorld(
                catalog=CATALOG,
                accounts=MemoryAccounts(world.backend, self.other),
                policies=FixedPolicy(PolicyReader(home=Path("/home/owner"), clients={"hermes"}).read(document)),
                journal=MemoryJournal(self.clock),
                artifacts=MemoryArtifacts(),
                clock=self.clock,
            )
        )

    async def ask(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        request = CATALOG.by_name[operation].request.model_validate(arguments)
        return answer(await self.service.submit(AGENT, request))

    async def carry(self, handles: list[str], account: str, **more: Any) -> dict[str, Any]:
        return await self.ask("messages_transfer", messages=handles, account=account, to="archive", **more)


async def rows(world: World, role: Role) -> list[Any]:
    await world.settle()
    return list((await world.backend.search([await box(world, role)], All(), Page(100))).rows)


async def test_what_leaves_an_account_is_proved_elsewhere_and_then_in_its_trash(changing: World) -> None:
    """N-13, N-1."""
    await changing.put(*letters())
    office = Office(changing)
    told = await office.carry([str(row.handle) for row in await newest(changing)], "other", move=True)
    assert (told["status"], told.get("done")) == ("ok", 4), told
    await changing.settle()
    assert await newest(changing) == []
    assert len(await rows(changing, Role.TRASH)) == 4
    stored = [one.mail for one in office.other.boxes["Archive"].mail.values()]
    assert len(stored) == 4
    assert not [one for one in stored if b"X-Pm-" in one.raw]
    assert {one.received for one in stored} == {one.received for one in letters()}


async def test_what_comes_into_an_account_is_read_again_and_is_the_same(changing: World) -> None:
    """N-13, B-06: whatever the server rebuilds; what it does not keep is told of each."""
    office = Office(changing)
    handles = [
        str(
            office.other.add(
                "INBOX", one.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), received=one.received, flags=one.flags
            )
        )
        for one in letters()
    ]
    told = await office.carry(handles, "me", move=True)
    assert (told["status"], told.get("done")) == ("ok", 4), told
    assert len(await rows(changing, Role.ARCHIVE)) == 4
    assert len(office.other.boxes["Trash"].mail) == 4
    again = await office.carry([f"other.{office.other.boxes['Trash'].mailbox.tag}.1-{n + 1}" for n in range(4)], "me")
    assert (again["status"], again.get("done", 0), again["already"]) == ("ok", 0, 4), again
    assert len(await rows(changing, Role.ARCHIVE)) == 4
    print(told)
    office.clock.wind(minutes=2)
    items = (await office.ask("operations_status", operation_id=told["operation_id"], items=True))["items"]
    assert {(one["fate"], one.get("proof")) for one in items} == {("done", "seen")}
