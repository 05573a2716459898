"""Operations through the whole service on a JMAP server: what it spares, and how few HTTP requests it takes (J-10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.jmap import threads
from mcp_proton.jmap.protocol import client
from tests.contract.letters import letter
from tests.servers.jmap.methods import Limits

from .jmap_house import jmap_house

if TYPE_CHECKING:
    from tests.servers.jmap import JmapServer
    from tests.servers.jmap.store import Stored

    from .conftest import House

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def said(server: JmapServer, number: int, *, role: str = "inbox", subject: str = "Plan", refers: str = "") -> Stored:
    """A letter of a conversation; `refers` are the numbers it answers."""
    ids = " ".join(f"<m{one}@example.org>" for one in refers.split())
    extra = f"References: {ids}\nIn-Reply-To: {ids.split()[-1]}\n" if ids else ""
    raw = letter(subject, number=number, body=f"text {number}", extra=extra)
    return server.store.add(raw, server.store.by_role(role).id, received=DAY + timedelta(hours=number))


async def handle_of(house: House, subject: str, mailbox: str = "inbox") -> str:
    told = await house.ask("messages_list", mailbox=mailbox, limit=50)
    return next(str(one["handle"]) for one in told["messages"] if one["subject"] == subject)


async def test_a_conversation_is_what_the_server_takes_for_one() -> None:
    """J-10, P-70: in one request, across mailboxes, oldest first, with what is missing."""
    async with jmap_house() as (server, house):
        said(server, 1, role="archive")
        said(server, 2, refers="1", subject="Re: Plan")
        said(server, 3, role="sent", refers="1 2", subject="AW: Plan")
        said(server, 5, refers="1 2 3 4", subject="Fwd: Plan")
        said(server, 9, subject="Other")
        handle = await handle_of(house, "Re: Plan")
        server.called.clear()
        told = await house.ask("threads_get", message=handle)
        assert [one["text"].strip() for one in told["messages"]] == ["text 1", "text 2", "text 3", "text 5"]
        assert [one["mailbox"] for one in told["messages"]] == ["Archive", "Inbox", "Sent", "Inbox"]
        assert told["missing"] == ["<m4@example.org>"]
        assert server.called[0] == ["Email/get", "Thread/get", "Email/get"]
        assert not any("Email/query" in names for names in server.called)


async def test_what_only_the_server_puts_together_is_no_conversation() -> None:
    """A-65: a server may group by subject; a stranger who copies one does not get into a conversation by that."""
    async with jmap_house() as (server, house):
        first = said(server, 1)
        said(server, 2, refers="1", subject="Re: Plan")
        said(server, 7, subject="Re: Plan").thread = first.thread
        told = await house.ask("threads_get", message=await handle_of(house, "Plan"))
        assert [one["text"].strip() for one in told["messages"]] == ["text 1", "text 2"]


async def test_where_the_server_puts_nothing_together_it_is_followed_here() -> None:
    async with jmap_house() as (server, house):
        said(server, 1, role="archive")
        answer = said(server, 2, refers="1", subject="Re: Plan")
        answer.thread = "of-its-own"
        told = await house.ask("threads_get", message=await handle_of(house, "Re: Plan"))
        assert [one["text"].strip() for one in told["messages"]] == ["text 1", "text 2"]


async def test_a_conversation_stays_within_what_may_be_read() -> None:
    """P-70: a mailbox that is denied is not in it, whatever the server says."""
    async with jmap_house() as (server, house):
        said(server, 1, role="archive")
        said(server, 2, refers="1", subject="Re: Plan")
        house.rules(preset="autonomous", rules=[{"effect": "read", "verdict": "deny", "mailbox": "archive"}])
        told = await house.ask("threads_get", message=await handle_of(house, "Re: Plan"))
        assert [one["text"].strip() for one in told["messages"]] == ["text 2"]
        assert told["missing"] == ["<m1@example.org>"]


async def test_a_conversation_longer_than_an_answer_may_be_is_cut_and_told() -> None:
    async with jmap_house(Limits(get=60)) as (server, house):
        said(server, 0)
        for number in range(1, 90):
            said(server, number, refers=str(number - 1), subject=f"Re: Plan {number}")
        handle = str(next(iter((await house.ask("messages_list", limit=1))["messages"]))["handle"])
        told = await house.ask("threads_get", message=handle, max_tokens=2_000)
        assert len(told["messages"]) == 50
        assert "more_messages_than_shown" in told["notices"]


async def test_a_conversation_that_is_more_than_can_be_held_is_read_by_its_latest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An alert that was sent a thousand times: told in part, not refused as a whole."""
    async with jmap_house() as (server, house):
        for number in range(40):
            said(server, number, refers=str(number - 1) if number else "", subject=f"Alert {number}")
        handle = await handle_of(house, "Alert 39")
        monkeypatch.setattr(client, "LARGEST_ANSWER", 12_000)
        monkeypatch.setattr(threads, "MOST", 5)
        told = await house.ask("threads_get", message=handle)
        assert [one["subject"] for one in told["messages"]] == [f"Alert {number}" for number in range(35, 40)]


async def test_a_forged_handle_opens_no_conversation() -> None:
    """P-90: the message must be in the mailbox that its handle names."""
    async with jmap_house() as (server, house):
        hidden = said(server, 1, role="archive")
        said(server, 2)
        tag = (await handle_of(house, "Plan")).split(".")[1]
        told = await house.ask("threads_get", message=f"personal.{tag}.{hidden.id}")
        assert told["status"] == "stale"


ASKED: list[tuple[str, dict[str, Any], int]] = [
    ("messages_list", {"limit": 50}, 1),
    ("messages_search", {"query": "from:anna", "mailboxes": ["inbox"]}, 1),
    ("messages_search", {"query": "plan", "mailboxes": ["inbox"]}, 2),
    ("mailboxes_list", {}, 1),
    ("messages_ids", {"mailbox": "inbox"}, 1),
    ("accounts_identities", {}, 1),
    ("vacation_get", {}, 1),
]


@pytest.mark.parametrize(("operation", "arguments", "most"), ASKED)
async def test_an_operation_takes_one_or_two_requests(operation: str, arguments: dict[str, Any], most: int) -> None:
    """Once the session and the list of mailboxes are known."""
    async with jmap_house() as (server, house):
        for number in range(60):
            said(server, number)
        await house.ask("messages_list")
        before = len(server.asked)
        assert (await house.ask(operation, **arguments))["status"] == "ok"
        assert len(server.asked) - before <= most


async def test_reading_a_message_takes_two_requests_and_a_whole_conversation_one() -> None:
    """The texts come along where they are simple; any other message is read as ever."""
    async with jmap_house() as (server, house):
        said(server, 1)
        for number in range(2, 9):
            said(server, number, refers=str(number - 1), subject=f"Re: Plan {number}")
        handle = await handle_of(house, "Re: Plan 5")
        before = len(server.asked)
        assert (await house.ask("messages_get", message=handle))["status"] == "ok"
        assert len(server.asked) - before <= 2
        before = len(server.asked)
        told = await house.ask("threads_get", message=handle)
        assert [one["text"].strip() for one in told["messages"]] == [f"text {number}" for number in range(1, 9)]
        assert len(server.asked) - before == 1


CARRIES = Limits(blob=1 << 20)
SENDING = [
    pytest.param(Limits(), False, 2, id="known from a mail of ours, by upload"),
    pytest.param(CARRIES, False, 1, id="known from a mail of ours, carried"),
    pytest.param(Limits(), True, 3, id="known from Sent alone, by upload"),
    pytest.param(CARRIES, True, 2, id="known from Sent alone, carried"),
]


@pytest.mark.parametrize("listed_for", [60.0, 0.0], ids=["listed just now", "listed long ago"])
@pytest.mark.parametrize(("limits", "looks", "requests"), SENDING)
async def test_sending_a_mail_takes_no_more_requests_than_are_promised(
    limits: Limits, *, looks: bool, requests: int, listed_for: float
) -> None:
    """The whole of `mail_send`: whether the owner knows the recipient, the octets, the sending, the look into Sent.

    One of them is an upload (RFC 8620 §6.1), except where a request may carry the octets along (RFC 9404).
    """
    async with jmap_house(limits, listed_for=listed_for) as (server, house):
        store = server.store
        store.add(letter("earlier", to="bob@example.net", sender="alice@example.org"), store.by_role("sent").id)
        mail = {"to": ["bob@example.net"], "text": "y"}
        await house.ask("accounts_identities")
        if not looks:
            assert (await house.ask("mail_send", subject="first", **mail))["status"] == "ok"
        server.asked.clear()
        told = await house.ask("mail_send", subject="x", **mail)
        assert told["status"] == "ok", told
        assert len(server.asked) == requests
        assert told["sent"] == await handle_of(house, "x", "sent")


async def test_a_draft_is_not_read_over_and_over() -> None:
    """Stored, seen whole, told what of it the server keeps: each look is one that may find something else."""
    async with jmap_house() as (server, house):
        await house.ask("accounts_identities")
        server.asked.clear()
        first = await house.ask("drafts_create", to=["bob@example.net"], subject="x", text="y")
        assert (first["status"], len(server.asked)) == ("ok", 6)
        server.asked.clear()
        told = await house.ask("drafts_update", draft=first["draft"], digest=first["digest"], text="z")
        assert (told["status"], len(server.asked)) == ("ok", 10)


async def test_a_stranger_is_asked_about_after_one_request() -> None:
    """N-7: however much mail there is to look through."""
    async with jmap_house() as (server, house):
        for number in range(600):
            said(server, number, role="sent" if number % 2 else "inbox")
        await house.ask("accounts_identities")
        server.asked.clear()
        told = await house.ask("mail_send", to=["eve@example.com"], subject="x", text="y")
        assert told["status"] == "approval_pending"
        assert len(server.asked) == 1


async def test_the_automatic_reply_is_set_on_the_server_once_the_owner_said_yes() -> None:
    """J-45, J-46: an HTML text that was set elsewhere would be sent beside ours, so it goes."""
    async with jmap_house() as (server, house):
        house.rules(preset="assistant")
        server.methods.around.vacation |= {"htmlBody": "<p>old</p>", "subject": "Away"}
        asked = await house.ask("vacation_update", enabled=True, text="Back on Monday.", until="2026-12-14T08:00:00Z")
        assert asked["status"] == "approval_pending"
        assert not any("VacationResponse/set" in names for names in server.called)
        await house.owner_asks("approvals_approve", operation_id=asked["operation_id"])
        told = await house.ask("operations_resume", operation_id=asked["operation_id"])
        assert (told["status"], told["text"], told["subject"]) == ("ok", "Back on Monday.", "Away")
        now = server.methods.around.vacation
        assert (now["isEnabled"], now["htmlBody"], now["toDate"]) == (True, None, "2026-12-14T08:00:00Z")
