"""Gmail through the door: mailboxes are labels there, and what could delete is refused (A-83, A-19, P-20).

On a server that does as Google documents; a live account was never tried, and the report says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from mcp_proton.domain.consequences import Evidence
from mcp_proton.domain.effects import DESTRUCTIVE, READING
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.imap import gmail, keys
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials
from mcp_proton.imap.login.providers import Name
from tests.service.conftest import House
from tests.unit.imap.labelled import ALL, SENT, SPAM, TRASH, LabelledServer
from tests.unit.imap.scripted import secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Desk(House):
    """The service in front of a Gmail account, everything allowed."""

    def __init__(self, server: LabelledServer, backend: ImapBackend) -> None:
        super().__init__(personal=backend)  # type: ignore[arg-type]  # any backend serves
        self.server, self.gmail = server, backend
        self.rules(preset="autonomous")

    async def handle(self, path: str, uid: int) -> str:
        box = next(one for one in await self.gmail.mailboxes() if one.path == path)
        return str(keys.handle(box, 1, uid))

    def changes(self) -> list[bytes]:
        """What was sent that could change mail."""
        words = (b"UID MOVE", b"UID COPY", b"UID STORE", b"UID EXPUNGE", b"EXPUNGE", b"CLOSE", b"DELETE", b"APPEND")
        return [command for command in self.server.received if command.startswith(words)]


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    server = LabelledServer()
    await server.start()
    backend = ImapBackend("personal", server.endpoint(), Credentials("me@gmail.com", secret))
    try:
        yield Desk(server, backend)
    finally:
        await backend.aclose()
        await server.stop()


async def test_archiving_takes_the_inbox_off_and_leaves_the_other_labels(desk: Desk) -> None:
    told = await desk.ask("messages_archive", messages=[await desk.handle("INBOX", 1)])
    assert told["status"] == "ok", told
    assert desk.server.labels[1] == {"Work"}
    assert desk.changes() == [b'UID MOVE 1 "[Gmail]/All Mail"']


async def test_moving_changes_one_label_for_another(desk: Desk) -> None:
    told = await desk.ask("messages_move", messages=[await desk.handle("INBOX", 1)], to="Archive of old")
    assert told["status"] == "ok", told
    assert desk.server.labels[1] == {"Work", "Archive of old"}


@pytest.mark.parametrize("path", ["INBOX", ALL, SENT])
async def test_trash_takes_mail_from_where_it_is(desk: Desk, path: str) -> None:
    uid = 3 if path == SENT else 1
    told = await desk.ask("messages_trash", messages=[await desk.handle(path, uid)])
    assert told["status"] == "ok", told
    assert desk.server.labels[uid] == {TRASH}


async def test_a_copy_puts_a_label_on_also_on_what_is_archived(desk: Desk) -> None:
    told = await desk.ask("messages_copy", messages=[await desk.handle(ALL, 4)], to="Work")
    assert told["status"] == "ok", told
    assert desk.server.labels[4] == {"Work"}


@pytest.mark.parametrize(
    ("operation", "path", "more"),
    [
        ("messages_destroy", "INBOX", {}),
        ("messages_destroy", TRASH, {}),
        ("messages_copy", "INBOX", {"to": "trash"}),
        ("messages_move", ALL, {"to": "Work"}),
        ("messages_move", SENT, {"to": "Work"}),
        ("messages_move", "[Gmail]/Important", {"to": "Work"}),
        ("messages_move", "INBOX", {"to": "[Gmail]/Starred"}),
    ],
)
async def test_what_could_lose_mail_is_refused_before_anything_is_sent(
    desk: Desk, operation: str, path: str, more: dict[str, str]
) -> None:
    """A-19: what an expunge does is a setting of the account."""
    before = {uid: set(labels) for uid, labels in desk.server.labels.items()}
    told = await desk.ask(operation, messages=[await desk.handle(path, 1)], **more)
    assert (told["status"], told["code"]) == ("unsupported", "unsupported_semantics"), told
    assert desk.server.labels == before
    assert desk.changes() == []


async def test_the_backend_itself_expunges_nothing_there(desk: Desk) -> None:
    """Whatever a plan says."""
    box = next(one for one in await desk.gmail.mailboxes() if one.role is Role.TRASH)
    desk.server.labels[1] = {TRASH}
    (fate,) = await desk.gmail.destroy([keys.handle(box, 1, 1)])
    assert fate.code == "unsupported_semantics"
    assert desk.changes() == []


async def test_a_message_that_went_from_the_inbox_meanwhile_is_not_told_as_archived(desk: Desk) -> None:
    handle = await desk.handle("INBOX", 2)
    desk.server.labels[2].discard("INBOX")
    told = await desk.ask("messages_archive", messages=[handle])
    assert told["not_done"][0]["code"] == "stale_handle", told


async def test_spam_reported_and_restored_is_back_under_the_label_alone(desk: Desk) -> None:
    told = await desk.ask("messages_spam", messages=[await desk.handle("INBOX", 1)])
    assert told["status"] == "ok", told
    assert desk.server.labels[1] == {SPAM}
    told = await desk.ask("messages_move", messages=[await desk.handle(SPAM, 1)], to="inbox")
    assert told["status"] == "ok", told
    assert desk.server.labels[1] == {"INBOX"}


def test_of_gmail_nothing_destructive_is_done_and_nothing_is_told_as_seen() -> None:
    """P-20: what was never tried is documented at best."""
    rows = gmail.table().rows
    assert not [row for row in rows if not row.refused and row.effects & DESTRUCTIVE and row.verb != "remove"]
    changing = {row.evidence for row in rows if not row.refused and not row.effects <= READING} - {(Evidence.STANDARD,)}
    assert changing == {(Evidence.DOCUMENTED,)}
    for source in Role:
        with pytest.raises(Unsupported):
            gmail.table().of("destroy", source)


async def test_gmail_is_known_by_what_it_says_and_by_its_name() -> None:
    """A-83: before the first connection too, if the owner named it."""
    named = ImapBackend("a", LabelledServer().endpoint(), Credentials("me", secret), provider=Name.GMAIL)
    unnamed = ImapBackend("b", LabelledServer().endpoint(), Credentials("me", secret))
    assert named.consequences() is gmail.table()
    assert unnamed.consequences() is not gmail.table()
