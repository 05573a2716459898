"""The switches of the account in memory do what tests of sending rely upon."""

from __future__ import annotations

import pytest

from mcp_proton.domain.errors import Ambiguous, OverLimit, Unavailable
from mcp_proton.domain.outgoing import Capacity, Delivery
from mcp_proton.testing import EPOCH, MemoryAccount, MemoryOctets, OutgoingFault, SentMail

ME = "memory@example.org"
RAW = b"From: memory@example.org\r\nTo: b@example.net\r\nMessage-ID: <1@x>\r\nSubject: s\r\n\r\nhello\r\n"


async def test_what_was_submitted_is_recorded_with_the_recipients_that_were_accepted() -> None:
    account = MemoryAccount()
    account.outgoing.refused = {"c@example.net"}
    told = await account.outgoing.submit(ME, ["b@example.net", "c@example.net"], MemoryOctets(RAW))
    assert told.delivery is Delivery.ACCEPTED
    assert [(one.recipient, one.accepted) for one in told.recipients] == [
        ("b@example.net", True),
        ("c@example.net", False),
    ]
    assert account.outgoing.sent == [SentMail(ME, ("b@example.net",), RAW)]


@pytest.mark.parametrize(
    ("fault", "delivery", "left"),
    [
        (OutgoingFault.REFUSED, Delivery.NOT_SENT, 0),
        (OutgoingFault.LOST_BEFORE, Delivery.UNKNOWN, 0),
        (OutgoingFault.LOST_AFTER, Delivery.UNKNOWN, 1),
    ],
)
async def test_a_fault_ends_the_submission_as_it_would_on_a_server(
    fault: OutgoingFault, delivery: Delivery, left: int
) -> None:
    account = MemoryAccount()
    account.outgoing.fault = fault
    told = await account.outgoing.submit(ME, ["b@example.net"], MemoryOctets(RAW))
    assert (told.delivery, len(account.outgoing.sent)) == (delivery, left)


async def test_a_server_that_is_not_there_sends_nothing_and_says_so() -> None:
    account = MemoryAccount()
    account.outgoing.fault = OutgoingFault.UNAVAILABLE
    with pytest.raises(Unavailable):
        await account.outgoing.submit(ME, ["b@example.net"], MemoryOctets(RAW))
    assert account.outgoing.sent == []


async def test_a_copy_that_lags_shows_in_sent_when_the_account_catches_up() -> None:
    account = MemoryAccount()
    account.outgoing.files_sent = account.outgoing.lagging = True
    await account.outgoing.submit(ME, ["b@example.net"], MemoryOctets(RAW))
    before = await account.outgoing.trace("<1@x>", EPOCH)
    account.outgoing.catch_up()
    after = await account.outgoing.trace("<1@x>", EPOCH)
    assert (before.sent, before.settled) == (None, False)
    assert after.settled
    assert after.sent is not None


async def test_a_swallowing_server_takes_an_equal_mail_and_drops_it() -> None:
    account = MemoryAccount()
    account.outgoing.swallows = True
    again = MemoryOctets(RAW.replace(b"<1@x>", b"<2@x>"))
    other = MemoryOctets(RAW.replace(b"hello", b"hullo"))
    for mail in (MemoryOctets(RAW), again, other):
        assert (await account.outgoing.submit(ME, ["b@example.net"], mail)).delivery is Delivery.ACCEPTED
    assert len(account.outgoing.sent) == 2
    key = await account.outgoing.repetition(["b@example.net"], again)
    assert key == await account.outgoing.repetition(["b@example.net"], MemoryOctets(RAW))


async def test_an_append_stores_once_or_says_that_nobody_knows() -> None:
    account = MemoryAccount()
    drafts = next(one for one in await account.mailboxes() if one.path == "Drafts")
    account.outgoing.append_fault = OutgoingFault.LOST_AFTER
    with pytest.raises(Ambiguous):
        await account.append(drafts, MemoryOctets(RAW), flags=frozenset({"draft", "seen"}))
    trace = await account.outgoing.trace("<1@x>", EPOCH)
    assert len(trace.drafts) == 1
    account.outgoing.append_fault, account.outgoing.limits = None, Capacity(append=10)
    with pytest.raises(OverLimit):
        await account.append(drafts, MemoryOctets(RAW))
    assert len(account.boxes["Drafts"].mail) == 1


def test_an_account_without_the_power_to_send_has_none() -> None:
    account = MemoryAccount()
    account.outgoing.present = False
    assert account.submits is None
