"""What is told of commands to a mail server: words of ours, how long, how it ended. Nothing that was asked or answered."""

from __future__ import annotations

import asyncio

import pytest

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.exchanges import Exchange
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol.commands import Noop
from tests.unit.imap.scripted import Talk, session_with

CANARY = "canary-folder"


async def test_how_each_command_ended_is_told_without_a_word_of_mail() -> None:
    """J-132, P-98."""
    told: list[Exchange] = []

    async def gone(talk: Talk, tag: bytes, command: bytes) -> None:
        talk.writer.close()

    replies = {b"EXAMINE": b"@TAG@ NO canary-folder is closed\r\n", b"NOOP": gone}
    stop = exchanges.listen(told.append)
    try:
        async with session_with(replies) as (session, _):
            with pytest.raises(MailError):
                await session.select(CANARY, read_only=True)
            with pytest.raises(MailError):
                await session.run(Noop())
        await asyncio.sleep(0)
    finally:
        stop()
    ends = {one.command: one.end for one in told}
    assert (ends["LOGIN"], ends["EXAMINE"], ends["NOOP"]) == ("ok", "refused", "lost")
    assert {one.protocol for one in told} == {"imap"}
    assert all(one.seconds >= 0 for one in told)
    assert CANARY not in repr(told)


async def test_a_command_that_nobody_waits_for_any_more_was_left() -> None:
    told: list[Exchange] = []

    async def never(talk: Talk, tag: bytes, command: bytes) -> None:
        await asyncio.sleep(60)

    stop = exchanges.listen(told.append)
    try:
        async with session_with({b"NOOP": never}) as (session, _):
            asked = asyncio.create_task(session.run(Noop()))
            await asyncio.sleep(0.05)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await asyncio.sleep(0)
    finally:
        stop()
    assert [one.end for one in told if one.command == "NOOP"] == ["left"]


async def test_where_nobody_listens_nothing_is_measured() -> None:
    assert not exchanges.heard()
    async with session_with({b"EXAMINE": b"@TAG@ NO\r\n"}) as (session, _):
        with pytest.raises((Rejected, MailError)):
            await session.select("a", read_only=True)
