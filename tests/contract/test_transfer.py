"""Mail in files, on every backend: written, read back, imported once; what the server keeps is what was told (P-63)."""

from __future__ import annotations

import mailbox
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
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccounts, MemoryArtifacts, MemoryJournal
from tests.contract.letters import letter, with_attachment
from tests.contract.worlds import DAY, Mail, box, newest

if TYPE_CHECKING:
    from tests.contract.worlds import World

CATALOG = registry.load()
AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)


class Door:
    """The whole service before one account."""

    def __init__(self, world: World, folder: Path) -> None:
        document = {
            "preset": "autonomous",
            "boundaries": {"export_directories": [str(folder)], "import_directories": [str(folder)]},
        }
        clock = FixedClock()
        self.clock = clock
        self.service = MailService(
            ServiceWorld(
                catalog=CATALOG,
                accounts=MemoryAccounts(world.backend),
                policies=FixedPolicy(PolicyReader(home=Path("/home/owner"), clients={"hermes"}).read(document)),
                journal=MemoryJournal(clock),
                artifacts=MemoryArtifacts(),
                clock=clock,
                files=FileMailFiles(lambda: [folder], lambda: [folder]),
            )
        )

    async def ask(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        request = CATALOG.by_name[operation].request.model_validate(arguments)
        return answer(await self.service.submit(AGENT, request))


async def everything(world: World, role: Role) -> list[Any]:
    await world.settle()
    found = await world.backend.search([await box(world, role)], All(), Page(100))
    return list(found.rows)


async def test_what_was_exported_comes_back_once(changing: World, tmp_path: Path) -> None:
    """P-63, B-06: read and starred stay, the date is that of the Date header at least, and a second import changes nothing."""
    big = with_attachment(bytes(range(256)) * 2_000, name="big.bin")
    mails = [
        Mail(letter("plain", number=1), DAY + timedelta(minutes=1), frozenset({"seen"})),
        Mail(letter("starred", number=2), DAY + timedelta(minutes=2), frozenset({"seen", "flagged"})),
        Mail(big, DAY + timedelta(minutes=3)),
    ]
    await changing.put(*mails)
    rows = await newest(changing)
    door = Door(changing, tmp_path)
    exported = await door.ask(
        "exports_create", messages=[str(row.handle) for row in rows], folder=str(tmp_path), name="all", format="mbox"
    )
    assert (exported["status"], exported["done"]) == ("ok", 3)
    read = mailbox.mbox(exported["path"])
    assert len(read) == 3
    read.close()
    await changing.empty_inbox()
    await changing.settle()
    before = {row.message_id: row for row in rows}

    imported = await door.ask("imports_create", path=exported["path"], to="archive")
    assert (imported["status"], imported["done"]) == ("ok", 3), imported
    after = {row.message_id: row for row in await everything(changing, Role.ARCHIVE)}
    assert after.keys() == before.keys()
    for message_id, row in after.items():
        assert row.subject == before[message_id].subject
        assert row.flags & {"seen", "flagged"} == before[message_id].flags & {"seen", "flagged"}
        assert row.date == before[message_id].date
        if changing.copies:  # Bridge takes the date of the Date header
            assert row.received == before[message_id].received
    again = await door.ask("imports_create", path=exported["path"], to="archive")
    assert (again["status"], again.get("done", 0), again["already"]) == ("ok", 0, 3)
    assert len(await everything(changing, Role.ARCHIVE)) == 3
    door.clock.wind(minutes=2)
    told = await door.ask("operations_status", operation_id=imported["operation_id"], items=True)
    assert {one.get("proof") for one in told["items"]} == {"seen"}


async def test_what_a_server_shows_of_its_own_is_not_given_back_to_it(changing: World, tmp_path: Path) -> None:
    """B-05: a text fetched from Bridge names its message; put back, it would move that one and be thrown away."""
    await changing.put(Mail(letter("one", number=1)))
    (row,) = await newest(changing)
    raw = b"".join([piece async for piece in changing.backend.fetch(row.handle)])
    changed = raw.replace(b"Message-ID: <", b"Message-ID: <other-").replace(b"Message-Id: <", b"Message-Id: <other-")
    assert changed != raw
    (tmp_path / "one.eml").write_bytes(changed)
    door = Door(changing, tmp_path)
    told = await door.ask("imports_create", path=str(tmp_path / "one.eml"), to="archive")
    assert (told["status"], told["done"]) == ("ok", 1)
    await changing.settle()
    assert len(await newest(changing)) == 1, "the message it was made from stays where it is"
    assert len(await everything(changing, Role.ARCHIVE)) == 1
