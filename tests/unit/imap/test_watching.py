"""Watching an account over a server that says what a test tells it: what is missed, refused, lost or never ends."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.domain.mail import mailbox_tag
from mcp_proton.imap import roles, watching
from mcp_proton.imap.watching import Watch
from tests.unit.imap.scripted import CAPABILITIES, OK, QUICK, Talk, pool_for, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.mail import Mailbox
    from tests.unit.imap.scripted import ScriptedServer

PATIENCE = 30.0
BOXES = b'* LIST () "/" INBOX\r\n* LIST () "/" Work\r\n' + OK
INBOX, WORK = mailbox_tag("INBOX"), mailbox_tag("Work")
NOTIFY = CAPABILITIES + b" NOTIFY CONDSTORE"


class Counts:
    """What STATUS says; `pushes` go to whoever is in IDLE."""

    def __init__(self) -> None:
        self.uidnext = {b"INBOX": 1, b"Work": 1}
        self.idling: list[Talk] = []

    async def status(self, talk: Talk, tag: bytes, command: bytes) -> None:
        name = b"Work" if b"Work" in command else b"INBOX"
        told = b"(MESSAGES 1 UIDNEXT %d UIDVALIDITY 1 UNSEEN 1 HIGHESTMODSEQ %d)" % ((self.uidnext[name],) * 2)
        await talk.say(b"* STATUS " + name + b" " + told + b"\r\n" + OK, tag)

    async def idle(self, talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"+ idling\r\n")
        self.idling.append(talk)
        await talk.reader.readline()
        self.idling.remove(talk)
        await talk.say(OK, tag)

    async def push(self, said: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.idling:
                await asyncio.sleep(0.005)
        await self.idling[0].say(said)


@asynccontextmanager
async def watched(
    counts: Counts, *tags: str, capabilities: bytes = CAPABILITIES, poll: float = 60.0
) -> AsyncIterator[tuple[ScriptedServer, asyncio.Queue[set[str]]]]:
    """A server, and what is told of it, as paths."""
    replies = {b"LIST": BOXES, b"STATUS": counts.status, b"IDLE": counts.idle}
    told: asyncio.Queue[set[str]] = asyncio.Queue()
    async with (
        serving(replies, capabilities=capabilities) as server,
        pool_for(server, timing=replace(QUICK, poll=poll)) as pool,
        aclosing(Watch(pool, lambda entries: roles.mailboxes("me", entries), _never)) as watch,
    ):

        async def listen() -> None:
            async for touched in watch:
                told.put_nowait({box.path for box in touched})

        listening = asyncio.create_task(listen())
        try:
            async with asyncio.timeout(PATIENCE):
                await watch.want(frozenset(tags))
            yield server, told
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


def _never(box: Mailbox) -> bool:
    return False


async def soon(told: asyncio.Queue[set[str]]) -> set[str]:
    async with asyncio.timeout(PATIENCE):
        return await told.get()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FIRST", 0.01)


async def test_what_happened_while_the_connection_was_lost_is_told_after_it() -> None:
    counts = Counts()
    async with watched(counts, INBOX) as (server, told):
        await counts.push(b"* 2 EXISTS\r\n")
        assert await soon(told) == {"INBOX"}
        counts.uidnext[b"INBOX"] = 9
        await server.talks[-1].hang_up()
        assert await soon(told) == {"INBOX"}
        assert len(server.talks) == 2


async def test_a_lost_connection_alone_is_no_change() -> None:
    counts = Counts()
    async with watched(counts, INBOX) as (server, told):
        await counts.push(b"")
        await server.talks[-1].hang_up()
        async with asyncio.timeout(PATIENCE):
            while len(server.talks) < 2 or not counts.idling:
                await asyncio.sleep(0.005)
        assert told.empty()


async def test_mailboxes_that_the_server_tells_nothing_of_are_asked_about_now_and_then() -> None:
    counts = Counts()
    async with watched(counts, INBOX, WORK, poll=0.05) as (_, told):
        counts.uidnext[b"Work"] = 2
        assert await soon(told) == {"Work"}


async def test_with_notify_the_server_tells_of_every_mailbox_and_is_not_asked_again() -> None:
    """RFC 5465; Dovecot sends a STATUS with nothing new in it at first."""
    counts = Counts()
    async with watched(counts, INBOX, WORK, capabilities=NOTIFY) as (server, told):
        (said,) = server.commands(b"NOTIFY")
        assert said.startswith(b"NOTIFY SET (SELECTED (MessageNew MessageExpunge FlagChange)) (MAILBOXES (")
        await counts.push(b"* STATUS Work (MESSAGES 2 UIDNEXT 2 UNSEEN 2 HIGHESTMODSEQ 2)\r\n")
        assert await soon(told) == {"Work"}
        asked = len(server.commands(b"STATUS"))
        await counts.push(b"* 2 EXISTS\r\n")
        assert await soon(told) == {"INBOX"}
        assert len(server.commands(b"STATUS")) == asked


async def test_a_notification_that_says_nothing_new_is_looked_into() -> None:
    counts = Counts()
    async with watched(counts, INBOX, WORK, capabilities=NOTIFY) as (server, told):
        asked = len(server.commands(b"STATUS"))
        await counts.push(b"* STATUS Work (MESSAGES 1 UIDNEXT 1)\r\n")
        async with asyncio.timeout(PATIENCE):
            while len(server.commands(b"STATUS")) == asked:
                await asyncio.sleep(0.005)
        assert told.empty()


async def test_a_server_that_gives_up_telling_is_told_anew_what_is_wanted_and_everything_is_looked_at() -> None:
    counts = Counts()
    async with watched(counts, INBOX, WORK, capabilities=NOTIFY) as (server, told):
        counts.uidnext[b"Work"] = 5
        await counts.push(b"* OK [NOTIFICATIONOVERFLOW] too much\r\n")
        assert await soon(told) == {"Work"}
        await counts.push(b"")
        assert [said.split(b" (")[0] for said in server.commands(b"NOTIFY")] == [
            b"NOTIFY SET",
            b"NOTIFY NONE",
            b"NOTIFY SET",
        ]


async def test_a_server_that_refuses_notify_is_asked() -> None:
    counts = Counts()
    async with watched(counts, INBOX, capabilities=NOTIFY, poll=0.05) as (server, _):
        server.replies[b"NOTIFY"] = b"@TAG@ NO [BADEVENT (MessageNew)] no\r\n"
        await server.talks[-1].hang_up()
        async with asyncio.timeout(PATIENCE):
            while len(server.commands(b"NOTIFY")) < 2 or not counts.idling:
                await asyncio.sleep(0.005)


async def test_a_server_that_ends_idle_by_itself_is_not_asked_for_it_without_end() -> None:
    counts = Counts()
    async with watched(counts, INBOX, poll=0.05) as (server, told):
        server.replies[b"IDLE"] = b"+ idling\r\n@TAG@ OK that was it\r\n"
        await server.talks[-1].hang_up()
        counts.uidnext[b"INBOX"] = 3
        assert await soon(told) == {"INBOX"}
        counts.uidnext[b"INBOX"] = 4
        assert await soon(told) == {"INBOX"}
        assert len(server.commands(b"IDLE")) <= 2


async def test_a_login_that_is_refused_ends_it() -> None:
    async with serving({b"LOGIN": b"@TAG@ NO [AUTHENTICATIONFAILED] no\r\n"}) as server, pool_for(server) as pool:
        watch = Watch(pool, lambda entries: roles.mailboxes("me", entries), _never)
        wanting = asyncio.ensure_future(watch.want(None))
        with pytest.raises(AuthFailed):
            await anext(watch)
        wanting.cancel()
        await asyncio.gather(wanting, return_exceptions=True)
