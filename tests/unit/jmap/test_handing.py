"""Handing a mail over in one request: what is taken for granted is made sure of before anything leaves twice (P-92, J-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Delivery
from tests.contract.letters_out import mail
from tests.servers.jmap.methods import Limits
from tests.servers.jmap.server import USER
from tests.unit.jmap.accounts import rows, warm

if TYPE_CHECKING:
    from mcp_proton.domain.outgoing import Submission
    from mcp_proton.jmap.backend import JmapBackend

TO = "bob@example.net"
CARRIES = Limits(blob=1 << 20)


async def sent(backend: JmapBackend, subject: str = "one", body: str = "hello") -> Submission:
    assert backend.submits is not None
    return await backend.submits.submit(USER, [TO], mail(USER, TO, subject=subject, body=body))


@pytest.mark.parametrize(("limits", "requests"), [(Limits(), 2), (CARRIES, 1)])
async def test_a_mail_leaves_in_one_request_after_its_upload_or_with_it(limits: Limits, requests: int) -> None:
    """The same octets either way, and the copy in Sent is seen in the same breath."""
    async with warm(limits) as (server, backend):
        text = mail(USER, TO, subject="one")
        assert backend.submits is not None
        told = await backend.submits.submit(USER, [TO], text)
        assert len(server.asked) == requests
        assert told.delivery is Delivery.ACCEPTED
        assert told.sent is not None
        assert [row.handle for row in await rows(backend, Role.SENT)] == [told.sent]
        assert await rows(backend, Role.DRAFTS) == []
        assert [raw async for raw in text.chunks()] == [raw for _, _, raw in server.store.sent]


@pytest.mark.parametrize(("limits", "requests"), [(Limits(), 2), (CARRIES, 1)])
async def test_a_list_of_mailboxes_that_is_due_comes_along(limits: Limits, requests: int) -> None:
    """What the owner made of the mailboxes since is known to the next mail."""
    async with warm(limits, listed_for=0.0) as (server, backend):
        server.store.by_role("sent").role = None
        server.store.folder("Outgoing", role="sent")
        before = await sent(backend)
        assert len(server.asked) == requests
        assert server.called[-1][-1] == "Mailbox/get"
        after = await sent(backend, "two")
        assert before.sent is not None
        assert after.sent is not None
        assert before.sent.tag != after.sent.tag
        assert [row.subject for row in await rows(backend, Role.SENT)] == ["two"]


@pytest.mark.parametrize("limits", [Limits(), CARRIES])
async def test_a_mailbox_that_is_gone_is_looked_for_again_and_the_mail_leaves_once(limits: Limits) -> None:
    async with warm(limits) as (server, backend):
        store = server.store
        del store.folders[store.by_role("drafts").id]
        store.folder("Drafts", role="drafts")
        told = await sent(backend)
        assert (told.delivery, len(store.sent)) == (Delivery.ACCEPTED, 1)
        server.called.clear()
        assert (await sent(backend, "two")).delivery is Delivery.ACCEPTED
        assert (server.called[0][0] == "Blob/upload") is bool(limits.blob)


async def test_a_server_that_knows_no_blob_by_its_name_is_sent_uploads_from_then_on() -> None:
    async with warm(CARRIES) as (server, backend):
        server.methods.names_blobs = False
        assert (await sent(backend)).delivery is Delivery.ACCEPTED
        assert (await sent(backend, "two")).delivery is Delivery.ACCEPTED
        assert len(server.store.sent) == 2
        assert [names[0] for names in server.called].count("Blob/upload") == 1


async def test_a_server_that_refuses_the_whole_request_gets_the_mail_as_an_upload() -> None:
    async with warm(CARRIES) as (server, backend):
        server.answers = [(413, {}, b"")]
        assert (await sent(backend)).delivery is Delivery.ACCEPTED
        assert len(server.store.sent) == 1


async def test_what_is_too_large_to_be_carried_is_uploaded() -> None:
    """By the server's own limit of such blobs."""
    async with warm(Limits(blob=2_000)) as (server, backend):
        assert (await sent(backend, body="x" * 3_000)).delivery is Delivery.ACCEPTED
        assert any("/upload/" in path for _, path, _ in server.asked)
        server.asked.clear()
        assert (await sent(backend, "two")).delivery is Delivery.ACCEPTED
        assert not any("/upload/" in path for _, path, _ in server.asked)


@pytest.mark.parametrize("calls", [2, 3])
async def test_a_server_that_takes_few_calls_at_once_is_asked_for_less(calls: int) -> None:
    async with warm(Limits(calls=calls, blob=1 << 20)) as (server, backend):
        told = await sent(backend)
        assert told.delivery is Delivery.ACCEPTED
        assert len(server.store.sent) == 1
        assert max(map(len, server.called)) <= calls


@pytest.mark.parametrize("method", ["Email/import", "EmailSubmission/set"])
@pytest.mark.parametrize("wrong", [{"created": 7}, {"created": {"m": 7, "s": 7}}, {"created": {"m": {"id": ""}}}, {}])
async def test_an_answer_that_cannot_be_read_does_not_say_that_nothing_left(method: str, wrong: Any) -> None:
    """The mail is with the server by then: it is looked for, and never sent again."""
    async with warm() as (server, backend):
        server.lie = lambda name, told: wrong if name == method else told
        told = await sent(backend)
        assert len(server.store.sent) == 1
        assert told.delivery is Delivery.UNKNOWN


@pytest.mark.parametrize("wrong", [{"ids": ["e999"]}, {"ids": []}, {"ids": 7}, {}])
async def test_a_look_that_shows_nothing_takes_nothing_from_a_mail_that_was_accepted(wrong: Any) -> None:
    async with warm() as (server, backend):
        server.lie = lambda name, told: wrong if name == "Email/query" else told
        told = await sent(backend)
        assert (told.delivery, told.sent) == (Delivery.ACCEPTED, None)


async def test_a_server_that_says_it_imported_nothing_and_sent_it_all_the_same_is_not_asked_again() -> None:
    async with warm() as (server, backend):
        refused = {"created": {}, "notCreated": {"m": {"type": "invalidProperties"}}}
        server.lie = lambda name, told: refused if name == "Email/import" else told
        await sent(backend)
        assert len(server.store.sent) == 1
