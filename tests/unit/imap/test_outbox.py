"""What an account can do about sending, by what its server says (A-45)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Trace
from mcp_proton.domain.ports import Standing
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Endpoint, TlsMode
from mcp_proton.imap.login.providers import PROVIDERS, Name
from mcp_proton.imap.submission.outbox import Outbox, append_limit
from mcp_proton.imap.submission.outlet import Outlet
from tests.unit.imap.scripted import CAPABILITIES, CREDENTIALS, OK, serving

NOWHERE = Outlet(Endpoint("127.0.0.1", 9, TlsMode.PLAIN, plain_to_this_machine=True), CREDENTIALS)


@pytest.mark.parametrize("more", [b"", b" X-GM-EXT-1"])
async def test_gmail_and_its_kind_file_what_they_send_and_others_do_not(more: bytes) -> None:
    async with serving(capabilities=CAPABILITIES + more) as server:
        backend = ImapBackend("me", server.endpoint(), CREDENTIALS, outlet=NOWHERE)
        await backend.health()
        assert backend.submits is not None
        assert backend.submits.files_sent is bool(more)
        assert (backend.features()["files_sent"] is Standing.AVAILABLE) is bool(more)
        await backend.aclose()


async def test_an_account_without_a_way_out_says_so() -> None:
    async with serving() as server:
        backend = ImapBackend("me", server.endpoint(), CREDENTIALS)
        await backend.health()
        assert backend.submits is None
        assert backend.features()["send"] is Standing.UNAVAILABLE
        await backend.aclose()


@pytest.mark.parametrize(
    ("word", "limit"),
    [("APPENDLIMIT=35651584", 35_651_584), ("APPENDLIMIT", None), ("APPENDLIMIT=x", None), ("X", None)],
)
def test_the_limit_for_storing_is_the_one_the_server_names_for_all_mailboxes(word: str, limit: int | None) -> None:
    assert append_limit(frozenset({word})) == limit


class Late:
    """A server's Sent that shows the copy at the n-th look."""

    def __init__(self, at: int) -> None:
        self.at, self.looks = at, 0

    async def trace(self, message_id: str, since: datetime) -> Trace:
        self.looks += 1
        return Trace(HANDLE if self.looks >= self.at else None)


HANDLE = Handle("me", "abcdef", "1")


class Hasty(Outbox):
    pauses = (0.0, 0.0, 0.0)


def outbox(late: Late, provider: Name | None) -> Hasty:
    known = None if provider is None else PROVIDERS[provider]
    return Hasty(NOWHERE, late, lambda: None, known)  # type: ignore[arg-type]  # neither is asked more than here


@pytest.mark.parametrize(("provider", "looks"), [(Name.YAHOO, 3), (Name.ICLOUD, 1), (None, 1)])
async def test_a_server_that_may_file_by_itself_is_given_a_while(provider: Name | None, looks: int) -> None:
    """A-45: a copy of ours would be the second one."""
    late = Late(3)
    found = await outbox(late, provider).trace("<a@x>", datetime.now(UTC))
    assert (late.looks, found.sent is not None) == (looks, looks == 3)


async def test_nobody_waits_for_a_copy_of_long_ago_nor_for_ever() -> None:
    """A-45."""
    late = Late(99)
    assert (await outbox(late, Name.YAHOO).trace("<a@x>", datetime.now(UTC))).sent is None
    assert late.looks == 4
    await outbox(late, Name.YAHOO).trace("<a@x>", datetime.now(UTC) - timedelta(hours=1))
    assert late.looks == 5


async def test_what_is_known_of_a_provider_is_in_the_report_as_unverified() -> None:
    """A-83, A-45."""
    async with serving() as server:
        backend = ImapBackend("me", server.endpoint(), CREDENTIALS, outlet=NOWHERE, provider=Name.YAHOO)
        await backend.health()
        features = backend.features()
        assert features["preset_yahoo"] is features["files_sent"] is Standing.UNVERIFIED
        assert backend.submits is not None
        assert not backend.submits.files_sent
        await backend.aclose()


async def test_mailboxes_of_a_provider_are_known_by_their_names_there() -> None:
    """A-83: Yahoo's spam is in Bulk."""
    listed = b'* LIST () "/" "INBOX"\r\n* LIST () "/" "Bulk"\r\n' + OK
    async with serving({b"LIST": listed}) as server:
        for provider, role in ((Name.YAHOO, Role.SPAM), (None, Role.FOLDER)):
            backend = ImapBackend("me", server.endpoint(), CREDENTIALS, provider=provider)
            assert {box.path: box.role for box in await backend.mailboxes()}["Bulk"] is role
            await backend.aclose()
