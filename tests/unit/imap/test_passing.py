"""News of flags are passed over by commands that have no answer but their OK, and by no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.imap.errors import LimitExceeded
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol.asks import Taken
from mcp_proton.imap.protocol.commands import Noop, Store
from mcp_proton.imap.protocol.fetching import Fetch, Items
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.uids import UidSet
from tests.unit.imap.scripted import OK, Talk, mailbox, session_with

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.responses import Response

SPELLINGS = (
    b"* 2 FETCH (FLAGS (\\Seen $Junk))\r\n",
    b"* 2 FETCH (UID 7 FLAGS ())\r\n",
    b"* 2 FETCH (FLAGS (\\Recent) UID 7 MODSEQ (715194045007))\r\n",
    b"* 2 FETCH (UID 7 MODSEQ (9))\r\n",
    b"* 2 FETCH (UID 7 FLAGS (\\Seen) MODSEQ (9))\r\n",
)
OTHERS = (
    b"* 5 EXISTS\r\n",
    b"* 1 EXPUNGE\r\n",
    b"* 2 FETCH (FLAGS ({3}\r\nabc))\r\n",
    b"* 2 FETCH (FLAGS (\\Seen) RFC822.SIZE 9)\r\n",
    b"* 2 FETCH (FLAGS (\\Seen))\n",
    b'* 2 FETCH (FLAGS ("a"))\r\n',
    b"* OK [UIDVALIDITY 9] rebuilt\r\n",
    b"X1 OK done\r\n",
)


@given(before=st.lists(st.sampled_from(SPELLINGS)), other=st.sampled_from(OTHERS), after=st.sampled_from(SPELLINGS))
def test_only_whole_lines_that_tell_flags_and_no_more_are_passed_over(
    before: list[bytes], other: bytes, after: bytes
) -> None:
    ahead = b"".join(before)
    assert Noop().take_lines(memoryview(ahead + other + after)) == Taken(len(ahead), 0)
    assert Noop().take_lines(memoryview(ahead + after[:-2])) == Taken(len(ahead), 0)


async def test_what_comes_between_news_of_flags_is_heard() -> None:
    """A-15: a change of thousands is told to every session, mail that comes and goes as well."""
    flags = b"".join(b"* %d FETCH (FLAGS (\\Seen))\r\n" % number for number in range(1, 3_000))
    said = flags + b"* 5 EXISTS\r\n" + flags + b"* 1 EXPUNGE\r\n" + flags + OK
    async with session_with({b"EXAMINE": mailbox(3), b"NOOP": said}, limits=Limits(unasked=10)) as (session, _):
        selection = await session.select("INBOX", read_only=True)
        await session.noop()
        assert selection.exists == 4


async def test_a_row_that_a_later_command_asked_for_is_not_passed_over() -> None:
    """A server may answer out of order, so nothing is passed over while several commands are under way."""
    tags: list[bytes] = []

    async def wait(talk: Talk, tag: bytes, command: bytes) -> None:
        tags.append(tag)

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"* 1 FETCH (UID 7 FLAGS (\\Seen))\r\n%b OK noop\r\n" % tags[0] + OK, tag)

    asks = [Noop(), Fetch(UidSet.of([7]), Items(flags=True))]
    async with session_with({b"EXAMINE": mailbox(3), b"NOOP": wait, b"UID FETCH": answer}) as (session, _):
        await session.select("INBOX", read_only=True)
        _, rows = await session.run_all(asks)
    assert isinstance(rows, list)
    assert [row.uid for row in rows] == [7]


async def test_who_listens_hears_every_change_of_flags() -> None:
    told = b"* 1 FETCH (FLAGS ())\r\n* 2 FETCH (FLAGS (\\Seen))\r\n"
    async with session_with({b"EXAMINE": mailbox(3), b"UID STORE": told + OK}) as (session, _):
        heard: list[Response] = []
        session.listen(heard.append)
        await session.select("INBOX", read_only=True)
        await session.run(Store(UidSet.of([7]), ["\\Seen"], add=True))
    assert [one.seq for one in heard if isinstance(one, FetchRow)] == [1, 2]


async def test_news_without_end_end_the_connection() -> None:
    line = b"* 1 FETCH (FLAGS (\\Seen))\r\n"
    async with session_with({b"NOOP": line * 2_000 + OK}, limits=Limits(held=20_000)) as (session, _):
        with pytest.raises(LimitExceeded):
            await session.noop()
