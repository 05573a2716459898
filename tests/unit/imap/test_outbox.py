"""What an account can do about sending, by what its server says (A-45)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.ports import Standing
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.endpoint import Endpoint, TlsMode
from mcp_proton.imap.outbox import append_limit
from mcp_proton.imap.outlet import Outlet
from tests.unit.imap.scripted import CAPABILITIES, CREDENTIALS, serving

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
