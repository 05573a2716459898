"""The contract: handing mail over, putting it into mailboxes, finding it again (P-92, P-60, A-43, A-45, J-02)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Conflict, NotFound, Unsupported
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outgoing import Delivery
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.services.door.wrappers import RetryReads
from tests.contract.letters_out import mail, own_id, with_file
from tests.contract.worlds import box, folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope
    from tests.contract.outside import Outside
    from tests.contract.worlds import World


async def rows(world: World, mailbox: Mailbox) -> Sequence[Envelope]:
    return (await world.backend.search([mailbox], All(), Page(100))).rows


async def text_of(world: World, handle: Handle) -> bytes:
    return b"".join([chunk async for chunk in world.backend.fetch(handle)])


def lately() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=5)


# --- handing over --------------------------------------------------------------------------------------------------------


async def test_a_mail_that_was_accepted_arrives_once_with_a_fate_for_its_recipient(sending: Outside) -> None:
    """P-92, A-43."""
    told = await sending.submits.submit(
        sending.sender, [sending.recipient], mail(f"Me <{sending.sender}>", sending.recipient, subject="one")
    )
    assert told.delivery is Delivery.ACCEPTED
    assert [(one.recipient, one.accepted, one.code) for one in told.recipients] == [(sending.recipient, True, 250)]
    assert await sending.arrived(1) == ["one"]


async def test_mails_arrive_in_the_order_they_were_handed_over(sending: Outside) -> None:
    for number in range(3):
        text = mail(sending.sender, sending.recipient, subject=f"number {number}")
        told = await sending.submits.submit(sending.sender, [sending.recipient], text)
        assert told.delivery is Delivery.ACCEPTED
    assert sorted(await sending.arrived(3)) == ["number 0", "number 1", "number 2"]


async def test_a_large_mail_goes_as_well(sending: Outside) -> None:
    text = with_file(sending.sender, 2_000_000)
    told = await sending.submits.submit(sending.sender, ["bob@example.net"], text)
    if told.delivery is Delivery.NOT_SENT:  # Postfix takes mail for its own domain only
        assert told.code == "recipients_refused"
        told = await sending.submits.submit(sending.sender, [sending.recipient], text)
    assert told.delivery is Delivery.ACCEPTED
    assert len(await sending.arrived(1)) == 1


async def test_nothing_is_sent_twice_by_a_backend_whose_reads_are_tried_again(sending: Outside) -> None:
    submits = RetryReads(sending.world.backend).submits
    assert submits is not None
    told = await submits.submit(sending.sender, [sending.recipient], mail(sending.sender, sending.recipient))
    assert told.delivery is Delivery.ACCEPTED
    assert len(await sending.arrived(1)) == 1


async def test_a_mail_is_found_in_sent_once_whoever_files_it(sending: Outside) -> None:
    """A-45: where the server files it no copy is appended, elsewhere exactly one."""
    named = own_id()
    text = mail(sending.sender, sending.recipient, message_id=named)
    assert (await sending.submits.trace(named, lately())).sent is None
    told = await sending.submits.submit(sending.sender, [sending.recipient], text)
    assert told.delivery is Delivery.ACCEPTED
    sent = await box(sending.world, Role.SENT)
    if not sending.submits.files_sent:
        await sending.world.backend.append(sent, text, flags=frozenset({"seen"}))
    await sending.world.settle()
    found = await sending.submits.trace(named, lately())
    assert found.sent is not None
    assert found.settled
    assert [row.handle for row in await rows(sending.world, sent)] == [found.sent]
    assert [row.message_id for row in await sending.world.backend.envelopes([found.sent])] == [named]


async def test_what_no_envelope_may_carry_is_not_sent(sending: Outside) -> None:
    for sender, to in (
        (sending.sender, "b@x>\r\nRCPT TO:<evil@example.net"),
        (f"{sending.sender}\n", "bob@example.net"),
    ):
        told = await sending.submits.submit(sender, [to], mail(sending.sender))
        assert (told.delivery, told.code) == (Delivery.NOT_SENT, "invalid_address")
    assert await sending.arrived(0) == []


async def test_identities_are_the_addresses_to_send_as(sending: Outside) -> None:
    """J-02."""
    known = await sending.world.backend.identities()
    assert sending.sender in [one.email for one in known]
    assert not any(one.role for one in known)


async def test_limits_are_told_and_a_repeat_is_known_by_a_key_that_does_not_depend_on_its_id(sending: Outside) -> None:
    """N-2, the backend's half."""
    capacity = await sending.submits.capacity()
    assert capacity.submit is None or capacity.submit > 1_000_000
    first, again = (mail(sending.sender, sending.recipient) for _ in range(2))
    keys = [await sending.submits.repetition([sending.recipient], one) for one in (first, again)]
    assert keys[0] == keys[1]


# --- into mailboxes ------------------------------------------------------------------------------------------------------


async def test_an_appended_message_is_there_with_its_flags_and_its_handle(changing: World) -> None:
    place = await folder(changing)
    text = mail("Eve <eve@example.com>", "me@example.org", subject="appended", body="first\r\n.second\r\n")
    handle = await changing.backend.append(place, text, flags=frozenset({"seen", "flagged"}))
    await changing.settle()
    (row,) = await changing.backend.envelopes([handle])
    assert (row.subject, row.handle) == ("appended", handle)
    assert row.flags >= {"seen", "flagged"}
    assert b"first\r\n.second" in await text_of(changing, handle)


async def test_the_date_received_is_kept_where_the_server_keeps_dates(changing: World) -> None:
    """B-06: Bridge does not, and says so."""
    place = await folder(changing)
    when = datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    handle = await changing.backend.append(place, mail("eve@example.com"), received=when)
    await changing.settle()
    (row,) = await changing.backend.envelopes([handle])
    kept = changing.backend.features().get("append_dates", "available") == "available"
    assert (row.received == when) is kept


async def test_the_same_text_appended_twice_is_two_messages_or_refused(changing: World) -> None:
    place = await folder(changing)
    text = mail("eve@example.com")
    handles = [await changing.backend.append(place, text)]
    try:
        handles.append(await changing.backend.append(place, text))
    except Conflict as refusal:  # a server of which a message is its octets keeps it once, and is told apart by that
        assert refusal.code == "already_there"
    await changing.settle()
    assert len(set(handles)) == len(handles)
    assert {row.handle for row in await rows(changing, place)} == set(handles)


async def test_a_draft_is_found_by_its_id(sending: Outside) -> None:
    named = own_id()
    drafts = await box(sending.world, Role.DRAFTS)
    text = mail(sending.sender, sending.recipient, message_id=named)
    handle = await sending.world.backend.append(drafts, text, flags=frozenset({"draft", "seen"}))
    await sending.world.settle()
    found = await sending.submits.trace(named, lately())
    assert (found.sent, found.drafts) == (None, (handle,))
    anchor = await sending.submits.anchor(handle)
    assert anchor is None or (anchor.startswith("<") and anchor.endswith(">"))


async def test_a_large_message_is_appended_whole(changing: World) -> None:
    place = await folder(changing)
    text = with_file("eve@example.com", 3_000_000)
    handle = await changing.backend.append(place, text)
    await changing.settle()
    (row,) = await changing.backend.envelopes([handle])
    assert row.size >= 4_000_000


async def test_nothing_is_appended_to_a_mailbox_that_only_shows_mail(changing: World) -> None:
    for mailbox in await changing.backend.mailboxes():
        if mailbox.role in {Role.ALL, Role.STARRED, Role.LABEL}:
            with pytest.raises(Unsupported):
                await changing.backend.append(mailbox, mail("eve@example.com"))


async def test_a_mailbox_that_is_gone_takes_nothing(changing: World) -> None:
    gone = Mailbox("me", "Nowhere", "Nowhere", Role.FOLDER)
    with pytest.raises(NotFound):
        await changing.backend.append(gone, mail("eve@example.com"))
