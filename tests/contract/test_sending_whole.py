"""The whole of sending, from the door to the wire, on every server: once, filed once, in its thread (P-60, P-92, A-45)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from tests.contract.worlds import Mail, box
from tests.service.conftest import House

if TYPE_CHECKING:
    from tests.contract.outside import Outside


class Desk(House):
    """The service in front of one account."""

    def __init__(self, outside: Outside) -> None:
        super().__init__(personal=outside.world.backend)  # type: ignore[arg-type]  # any backend serves
        self.outside = outside
        domains = sorted({f"@{one.rpartition('@')[2]}" for one in (outside.sender, outside.recipient, "x@example.org")})
        self.rules(preset="autonomous", boundaries={"recipients": domains})

    async def sent(self) -> list[Any]:
        """The rows of Sent."""
        await self.outside.world.settle()
        place = await box(self.outside.world, Role.SENT)
        return list((await self.outside.world.backend.search([place], All(), Page(100))).rows)


@pytest.fixture
def desk(sending: Outside) -> Desk:
    return Desk(sending)


async def test_a_mail_arrives_once_and_one_copy_of_it_is_in_sent(desk: Desk) -> None:
    """P-92, A-45."""
    mail = {"to": [desk.outside.recipient], "subject": "whole", "text": "Grüße\n.\n.\nend", "from": desk.outside.sender}
    told = await desk.ask("mail_send", **mail)
    assert told["status"] == "ok", told
    assert await desk.outside.arrived(1) == ["whole"]
    (row,) = await desk.sent()
    assert (row.message_id, "seen" in row.flags) == (told["message_id"], True)
    now = await desk.ask("operations_status", operation_id=told["operation_id"])
    assert (now["mail"]["delivery"], now["mail"]["sent"]) == ("found", str(row.handle))


async def test_a_reply_is_in_its_thread_and_what_it_answers_is_marked(desk: Desk) -> None:
    """P-60, A-21."""
    question = (
        f"From: Anna <{desk.outside.recipient}>\r\nTo: {desk.outside.sender}\r\nSubject: Lunch\r\n"
        "Message-ID: <question@example.org>\r\nReferences: <first@example.org>\r\n"
        "Date: Mon, 30 Nov 2026 10:00:00 +0000\r\n\r\nAt noon?\r\n"
    )
    await desk.outside.world.put(Mail(question.encode()))
    await desk.outside.world.settle()
    inbox = await box(desk.outside.world)
    (row,) = (await desk.outside.world.backend.search([inbox], All(), Page(5))).rows
    told = await desk.ask("mail_reply", message=str(row.handle), text="Gladly.", **{"from": desk.outside.sender})
    assert told["status"] == "ok", told
    (copy,) = await desk.sent()
    assert (copy.subject, copy.in_reply_to) == ("Re: Lunch", "<question@example.org>")
    (marked,) = await desk.outside.world.backend.envelopes([Handle.parse(str(row.handle))])
    assert "answered" in marked.flags


async def test_a_recipient_that_is_not_there_is_told_and_nothing_is_in_sent(desk: Desk) -> None:
    """P-92: only where the server says so at once."""
    told = await desk.ask(
        "mail_send", to=["nobody-at-all@example.org"], subject="x", text="y", **{"from": desk.outside.sender}
    )
    if told["status"] == "ok":  # a server that takes everything and bounces later
        assert len(await desk.sent()) == 1
        return
    assert (told["status"], told["refused"][0]["reply"] // 100) == ("not_done", 5)
    assert await desk.sent() == []
