"""Files go from one account to another by reference: few tokens, and nothing of them in a model's context (N-12)."""

from __future__ import annotations

import base64
import json
from email import message_from_bytes, policy
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.testing import EPOCH
from tests.o200k import count

from .conftest import House, letter
from .test_sending import ANNA, left

FILE = bytes(range(256)) * 4_000
LARGE = (
    b"From: Bob <bob@example.org>\r\nTo: work@example.org\r\nSubject: Plans\r\nMessage-ID: <plans@example.org>\r\n"
    b"Date: Mon, 30 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain\r\n\r\nSee the plans.\r\n--b\r\nContent-Type: application/pdf\r\n"
    b'Content-Disposition: attachment; filename="plans.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    + base64.encodebytes(FILE).replace(b"\n", b"\r\n")
    + b"--b--\r\n"
)


class Counted:
    """The agent's side of a conversation: every argument and every answer, in tokens."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.tokens = 0

    async def ask(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        told = await self.house.ask(operation, **arguments)
        for said in ({"name": operation, "arguments": arguments}, told):
            self.tokens += count(json.dumps(said, separators=(",", ":")))
        return told


@pytest.fixture
def two(house: House) -> tuple[House, Handle]:
    """A file in a message of `work`; Anna is somebody `personal` writes to."""
    house.personal.add(
        "Sent", letter("Earlier", to=ANNA, sender="personal@example.org", message_id="<earlier@example.org>")
    )
    return house, house.work.add("INBOX", LARGE, received=EPOCH)


async def test_a_file_of_one_account_is_sent_from_another_in_a_few_tokens(two: tuple[House, Handle]) -> None:
    """N-12: found, attached, approved and sent, under 500 tokens in all calls, and to the octet the same."""
    house, _ = two
    agent = Counted(house)
    (row,) = (await agent.ask("messages_list", account="work", limit=1))["messages"]
    (file,) = (await agent.ask("attachments_list", message=row["handle"]))["attachments"]
    attach = [{"message": row["handle"], "index": file["index"]}]
    waiting = await agent.ask("mail_send", to=[ANNA], subject="Plans", text="Here.", attach=attach, account="personal")
    assert waiting["status"] == "approval_pending", waiting
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    told = await agent.ask("operations_resume", operation_id=waiting["operation_id"])
    assert told["status"] == "ok", told
    (attached,) = left(house)[0].iter_attachments()
    assert (attached.get_filename(), attached.get_content()) == ("plans.pdf", FILE)
    assert house.work.outgoing.sent == []
    assert agent.tokens < 500, agent.tokens


async def test_a_file_goes_into_a_draft_of_another_account_and_the_original_stays(two: tuple[House, Handle]) -> None:
    """N-12."""
    house, handle = two
    told = await house.ask(
        "drafts_create", to=[ANNA], subject="Plans", attach=[{"message": str(handle), "index": 1}], account="personal"
    )
    assert told["status"] == "ok", told
    draft = message_from_bytes(house.personal.find(Handle.parse(told["draft"])).mail.raw, policy=policy.default)
    assert [one.get_content() for one in draft.iter_attachments()] == [FILE]
    assert house.work.find(handle).mail.raw == LARGE


async def test_a_file_the_other_account_cannot_send_is_refused_before_any_of_it_is_read(
    two: tuple[House, Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-12, A-47: the limit is named, and what is known to be too large is not even fetched."""
    house, handle = two
    house.rules(preset="autonomous")
    house.personal.outgoing.limits = type(house.personal.outgoing.limits)(submit=500_000, append=500_000)
    fetched: list[Any] = []
    fetch = house.work.fetch
    monkeypatch.setattr(house.work, "fetch", lambda *args, **kwargs: fetched.append(args) or fetch(*args, **kwargs))
    async with house.artifacts.create(house.agent, "large.bin", "application/octet-stream") as writer:
        await writer.write(FILE)
        kept = await writer.done()
    for attach in ([{"message": str(handle), "index": 1}], [{"artifact": kept.id}]):
        for operation in ("mail_send", "drafts_create"):
            told = await house.ask(operation, to=[ANNA], subject="x", text="y", attach=attach, account="personal")
            assert (told["status"], told["code"]) == ("refused", "too_large")
            assert "500000 octets" in told["why"]
    assert (fetched, left(house)) == ([], [])


async def test_files_that_are_too_large_together_are_refused_too(two: tuple[House, Handle]) -> None:
    house, _ = two
    house.rules(preset="autonomous")
    house.personal.outgoing.limits = type(house.personal.outgoing.limits)(submit=500_000)
    ids = []
    for number in range(4):
        async with house.artifacts.create(house.agent, f"{number}.bin", "application/octet-stream") as writer:
            await writer.write(FILE[:150_000])
            ids.append((await writer.done()).id)
    told = await house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=ids, account="personal")
    assert (told["code"], "500000 octets" in told["why"], left(house)) == ("too_large", True, [])
    told = await house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=ids[:2], account="personal")
    assert told["status"] == "ok", told
