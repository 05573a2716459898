"""Gmail through the door: mailboxes are labels there, and what could delete is refused (A-83, A-19, P-20).

On a server that does as Google documents; a live account was never tried, and the report says so.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from mcp_proton.domain.consequences import Evidence
from mcp_proton.domain.effects import DESTRUCTIVE, READING
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.imap import gmail, keys
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.login.providers import Name
from mcp_proton.imap.submission.outlet import Outlet
from tests.contract.worlds import CERTIFICATE, certificate_der
from tests.servers.smtp_sink import SmtpSink
from tests.service.conftest import House
from tests.unit.imap.labelled import ALL, CAPABILITIES, DRAFTS, SENT, SPAM, TRASH, LabelledServer
from tests.unit.imap.scripted import secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LOGIN = Credentials("me@gmail.com", secret)


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


@asynccontextmanager
async def serving(capabilities: bytes = CAPABILITIES) -> AsyncIterator[LabelledServer]:
    server = LabelledServer(capabilities=capabilities)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def in_front_of(server: LabelledServer, outlet: Outlet | None = None) -> AsyncIterator[Desk]:
    backend = ImapBackend("personal", server.endpoint(), LOGIN, outlet=outlet)
    made = Desk(server, backend)
    try:
        yield made
    finally:
        await made.service.aclose()
        await backend.aclose()


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with serving() as server, in_front_of(server) as made:
        yield made


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


# --- drafts: nothing is destroyed there, so what is discarded goes into Trash (P-59, P-61) ------------------------------


async def drafted(desk: Desk, **more: str) -> dict[str, Any]:
    """A draft as the service wrote it."""
    told = await desk.ask("drafts_create", to=["bob@example.net"], subject="Plan", text="first words", **more)
    assert told["status"] == "ok", told
    return told


async def test_a_new_version_of_a_draft_takes_the_old_one_s_place_and_the_old_one_is_in_trash(desk: Desk) -> None:
    """The new one is stored and seen before; nothing is marked as deleted and nothing expunged."""
    first = await drafted(desk)
    (old,) = desk.server.there(DRAFTS)
    desk.server.received.clear()
    told = await desk.ask("drafts_update", draft=first["draft"], digest=first["digest"], text="second words")
    assert told["status"] == "ok", told
    (new,) = desk.server.there(DRAFTS)
    assert desk.server.labels[old] == {TRASH}
    assert b"second words" in desk.server.texts[new]
    assert [words(one) for one in desk.changes()] == [b"APPEND", b"UID MOVE"]
    again = await desk.ask("drafts_get", draft=told["draft"])
    assert (again["text"].strip(), again["digest"]) == ("second words", told["digest"])


async def test_a_discarded_draft_is_in_trash_and_the_owner_is_told_so(desk: Desk) -> None:
    first = await drafted(desk)
    (uid,) = desk.server.there(DRAFTS)
    desk.rules(preset="autonomous", rules=[{"effect": "draft", "verdict": "ask"}])
    waits = await desk.ask("drafts_discard", messages=[first["draft"]])
    (line,) = [one for one in (await desk.service.review(waits["operation_id"])).review if "1 draft" in one.label]
    assert ("moved to Trash" in line.value, line.risk) == (True, False)
    desk.server.received.clear()
    await desk.owner_asks("approvals_approve", operation_id=waits["operation_id"])
    told = await desk.ask("operations_resume", operation_id=waits["operation_id"])
    assert (told["status"], told["done"]) == ("ok", 1), told
    assert desk.server.labels[uid] == {TRASH}
    assert [words(one) for one in desk.changes()] == [b"UID MOVE"]


async def test_what_an_expunge_does_to_a_draft_there_is_why_none_is_sent(desk: Desk) -> None:
    """By Google's default it stays in All Mail, a draft no more: neither gone nor to be found among drafts."""
    await drafted(desk)
    (uid,) = desk.server.there(DRAFTS)
    box = next(one for one in await desk.gmail.mailboxes() if one.role is Role.DRAFTS)
    (fate,) = await desk.gmail.destroy([keys.handle(box, 1, uid)])
    assert (fate.code, desk.server.labels[uid]) == ("unsupported_semantics", {DRAFTS})


async def test_a_move_that_did_nothing_is_not_told_as_done(desk: Desk) -> None:
    """What Gmail does with drafts was never tried: it is looked at."""
    first = await drafted(desk)
    desk.server.keeps_drafts = True
    told = await desk.ask("drafts_discard", messages=[first["draft"]])
    assert told["not_done"][0]["code"] == "not_done", told
    told = await desk.ask("drafts_update", draft=first["draft"], digest=first["digest"], text="second words")
    assert told["not_done"][0]["code"] == "old_kept", told
    assert len(desk.server.there(DRAFTS)) == 2


async def test_a_draft_that_was_changed_elsewhere_is_left_alone(desk: Desk) -> None:
    """A-14."""
    first = await drafted(desk)
    told = await desk.ask("drafts_update", draft=first["draft"], digest="0" * 32, text="second words")
    assert told["code"] == "changed_elsewhere", told
    assert len(desk.server.there(DRAFTS)) == 1


async def test_a_draft_that_was_sent_is_in_trash() -> None:
    """P-59: and no copy is put into Sent, where Gmail files what it sends."""
    async with SmtpSink(CERTIFICATE, username=LOGIN.username, password=await secret()) as sink, serving() as server:
        outlet = Outlet(Endpoint("127.0.0.1", sink.port, TlsMode.STARTTLS, Pin.of(certificate_der())), LOGIN)
        async with in_front_of(server, outlet) as desk:
            first = await drafted(desk)
            (uid,) = server.there(DRAFTS)
            told = await desk.ask("drafts_send", draft=first["draft"], digest=first["digest"])
            await desk.owner_asks("approvals_approve", operation_id=told["operation_id"])
            told = await desk.ask("operations_resume", operation_id=told["operation_id"])
        assert (told["status"], told["draft"]) == ("ok", "moved to Trash"), told
        assert (len(sink.stored), server.labels[uid]) == (1, {TRASH})
        assert [words(one) for one in desk.changes()] == [b"APPEND", b"UID MOVE"]


@pytest_asyncio.fixture
async def plain(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """A server that is not Gmail's, of these capabilities."""
    async with serving(request.param) as server, in_front_of(server) as made:
        yield made


@pytest.mark.parametrize("plain", [b"IMAP4rev1 UNSELECT IDLE ID MOVE SPECIAL-USE"], indirect=True)
async def test_a_server_that_expunges_no_named_message_moves_drafts_to_trash_too(plain: Desk) -> None:
    """Without UIDPLUS an EXPUNGE would take what others marked."""
    first = await drafted(plain)
    plain.server.received.clear()
    told = await plain.ask("drafts_update", draft=first["draft"], digest=first["digest"], text="second words")
    assert told["status"] == "ok", told
    assert len(plain.server.there(DRAFTS)) == len(plain.server.there(TRASH)) == 1
    told = await plain.ask("drafts_discard", messages=[told["draft"]])
    assert told["status"] == "ok", told
    assert [words(one) for one in plain.changes()] == [b"APPEND", b"UID MOVE", b"UID MOVE"]


@pytest.mark.parametrize("plain", [b"IMAP4rev1 UNSELECT IDLE ID SPECIAL-USE"], indirect=True)
async def test_a_server_that_can_take_no_draft_away_is_not_given_a_second_one(plain: Desk) -> None:
    """Neither MOVE nor UIDPLUS: refused before the new version is stored beside the old one."""
    first = await drafted(plain)
    plain.server.received.clear()
    for operation, more in (
        ("drafts_update", {"draft": first["draft"], "digest": first["digest"], "text": "more"}),
        ("drafts_discard", {"messages": [first["draft"]]}),
    ):
        told = await plain.ask(operation, **more)
        assert told["status"] == "unsupported", told
    assert plain.changes() == []


def words(command: bytes) -> bytes:
    return b" ".join(command.split(b" ")[: 2 if command.startswith(b"UID") else 1])
