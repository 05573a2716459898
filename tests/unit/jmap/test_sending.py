"""Sending over JMAP: import and submission in one request, once; what is refused leaves nothing behind (P-92, J-24)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcp_proton.domain.errors import OverLimit, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Delivery
from tests.contract.letters_out import mail, own_id
from tests.servers.jmap.methods import Limits, Refusal
from tests.servers.jmap.server import CORE, MAIL, USER
from tests.unit.jmap.accounts import account, box, rows

TO = "bob@example.net"


async def test_a_mail_is_sent_in_two_requests_and_filed_by_the_server() -> None:
    async with account() as (server, backend):
        await backend.mailboxes()
        assert await backend.identities()
        before = len(server.asked)
        told = await backend.submits.submit(USER, [TO, "cc@example.net"], mail(USER, TO, subject="one"))  # type: ignore[union-attr]
        assert told.delivery is Delivery.ACCEPTED
        assert [(one.recipient, one.accepted) for one in told.recipients] == [(TO, True), ("cc@example.net", True)]
        assert len(server.asked) - before == 2
        assert [(sender, to) for sender, to, _ in server.store.sent] == [(USER, [TO, "cc@example.net"])]
        assert [row.subject for row in await rows(backend, Role.SENT)] == ["one"]
        assert await rows(backend, Role.DRAFTS) == []


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_lost_answer_is_unknown_and_found_out_by_looking(cut: Any) -> None:
    """Never sent again by itself; where it lies tells whether it left."""
    async with account() as (server, backend):
        named, since = own_id(), datetime.now(UTC) - timedelta(minutes=1)
        await backend.mailboxes()
        assert await backend.identities()
        server.cut = cut
        told = await backend.submits.submit(USER, [TO], mail(USER, TO, message_id=named))  # type: ignore[union-attr]
        assert told.delivery is Delivery.UNKNOWN
        assert len(server.store.sent) == (cut == "after")
        found = await backend.submits.trace(named, since)  # type: ignore[union-attr]
        assert (found.sent is not None) is (cut == "after")
        assert len(server.store.sent) == (cut == "after")


async def test_giving_up_while_it_is_handed_over_is_unknown() -> None:
    """The server has it by then, or not: cancelling tells nothing."""
    async with account() as (server, backend):
        assert await backend.identities()
        going = asyncio.ensure_future(backend.submits.submit(USER, [TO], mail(USER, TO)))  # type: ignore[union-attr]
        server.meanwhile = lambda name: going.cancel() and None if name == "Email/import" else None
        assert (await going).delivery is Delivery.UNKNOWN
        assert len(server.store.sent) == 1


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("tooManyRecipients", "too_many_recipients"),
        ("invalidRecipients", "recipients_refused"),
        ("forbiddenFrom", "sender_refused"),
        ("forbiddenToSend", "sending_refused"),
        ("tooLarge", "too_large"),
        ("something new", "server_refused"),
    ],
)
async def test_a_refused_mail_is_not_sent_and_leaves_no_draft(kind: str, code: str) -> None:
    async with account() as (server, backend):
        server.methods.refuse_sending = kind
        told = await backend.submits.submit(USER, [TO], mail(USER, TO))  # type: ignore[union-attr]
        assert (told.delivery, told.code, told.stray) == (Delivery.NOT_SENT, code, False)
        assert server.store.emails == {}


async def test_a_draft_that_could_not_be_taken_away_is_told() -> None:
    async with account() as (server, backend):
        server.methods.refuse_sending = "forbiddenToSend"

        def fail(name: str) -> None:
            if name == "Email/set":
                raise Refusal("serverFail")

        server.meanwhile = fail
        told = await backend.submits.submit(USER, [TO], mail(USER, TO))  # type: ignore[union-attr]
        assert (told.delivery, told.stray) == (Delivery.NOT_SENT, True)
        assert len(server.store.emails) == 1


async def test_a_recipient_that_was_refused_with_the_others_accepted_is_named() -> None:
    async with account() as (server, backend):
        status = {TO: {"smtpReply": "550 5.1.1 nobody of that name", "delivered": "no", "displayed": "unknown"}}
        server.lie = lambda name, told: (
            told | {"created": {"s": {"id": "s1", "deliveryStatus": status}}} if name == "EmailSubmission/set" else told
        )
        told = await backend.submits.submit(USER, [TO, "c@example.net"], mail(USER, TO))  # type: ignore[union-attr]
        assert [(one.accepted, one.code) for one in told.recipients] == [(False, 550), (True, 250)]


async def test_an_answer_that_says_nothing_of_the_submission_is_unknown() -> None:
    async with account() as (server, backend):
        server.lie = lambda name, told: {} if name == "EmailSubmission/set" else told
        told = await backend.submits.submit(USER, [TO], mail(USER, TO))  # type: ignore[union-attr]
        assert told.delivery is Delivery.UNKNOWN


async def test_nobody_is_sent_as_whom_the_server_does_not_know() -> None:
    """J-02, J-137: no identity is taken by its place in a list."""
    async with account() as (server, backend):
        told = await backend.submits.submit("eve@example.com", [TO], mail("eve@example.com", TO))  # type: ignore[union-attr]
        assert (told.delivery, told.code) == (Delivery.NOT_SENT, "sender_refused")
        assert server.store.sent == []
        server.store.identities.append({"id": "id2", "name": "", "email": "*@example.com"})
        await backend.check_sending()
        told = await backend.submits.submit("eve@example.com", [TO], mail("eve@example.com", TO))  # type: ignore[union-attr]
        assert told.delivery is Delivery.ACCEPTED
        assert [one.email for one in await backend.identities()] == [USER]


async def test_a_server_without_submission_says_so_and_files_all_the_same() -> None:
    async with account() as (server, backend):
        server.session_changes = {
            "capabilities": {CORE: {}, MAIL: {}},
            "accounts": {"acc": {"accountCapabilities": {MAIL: {}}}},
        }
        with pytest.raises(Unsupported):
            await backend.submits.submit(USER, [TO], mail(USER, TO))  # type: ignore[union-attr]
        assert backend.features()["send"] == "unavailable"
        assert [one.email for one in await backend.identities()] == [USER]
        assert await backend.append(await box(backend), mail(USER, TO))


async def test_what_is_too_large_is_refused_before_it_is_sent() -> None:
    async with account(Limits(upload=300)) as (server, backend):
        text = mail(USER, TO, body="x" * 400)
        told = await backend.submits.submit(USER, [TO], text)  # type: ignore[union-attr]
        assert (told.delivery, told.code) == (Delivery.NOT_SENT, "too_large")
        with pytest.raises(OverLimit):
            await backend.append(await box(backend), text)
        assert not any("/upload/" in path for _, path, _ in server.asked)
