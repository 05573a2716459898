"""What changes in an account is told, whatever its server has for that (P-64): IDLE, NOTIFY, EventSource or questions."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import FlagChange
from tests.contract.letters import letter
from tests.contract.worlds import Mail, box, folder, newest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.mail import Mailbox
    from tests.contract.worlds import World

PATIENCE = 60.0


class Listener:
    """Hears everything a watch tells."""

    def __init__(self) -> None:
        self.told: list[frozenset[Mailbox]] = []
        self._more = asyncio.Event()

    def hear(self, touched: frozenset[Mailbox]) -> None:
        self.told.append(touched)
        self._more.set()

    async def until(self, path: str) -> None:
        """Wait until a mailbox is told."""
        async with asyncio.timeout(PATIENCE):
            while not any(one.path == path for touched in self.told for one in touched):
                self._more.clear()
                await self._more.wait()

    @property
    def paths(self) -> set[str]:
        return {one.path for touched in self.told for one in touched}


@asynccontextmanager
async def watched(world: World, tags: frozenset[str] | None) -> AsyncIterator[Listener]:
    listener = Listener()
    async with aclosing(world.backend.watch()) as watch:

        async def listen() -> None:
            async for touched in watch:
                listener.hear(touched)

        listening = asyncio.create_task(listen())
        try:
            async with asyncio.timeout(PATIENCE):
                await watch.want(tags)
            yield listener
            assert not listening.done()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


async def test_mail_that_arrives_is_told_of_its_mailbox_alone(world: World) -> None:
    inbox, other = await box(world), await folder(world)
    async with watched(world, frozenset({inbox.tag, other.tag})) as listener:
        assert not listener.told
        await world.put(Mail(letter("news", number=1)))
        await listener.until(inbox.path)
        assert listener.paths == {inbox.path}
        await world.put_into_folder(Mail(letter("filed", number=2)))
        await listener.until(other.path)


async def test_what_is_not_wanted_is_not_told(world: World) -> None:
    other = await folder(world)
    async with watched(world, frozenset({other.tag})) as listener:
        await world.put(Mail(letter("news", number=1)))
        await world.put_into_folder(Mail(letter("filed", number=2)))
        await listener.until(other.path)
        assert listener.paths == {other.path}


async def test_a_message_that_was_read_or_went_away_is_told(world: World) -> None:
    inbox = await box(world)
    await world.put(Mail(letter("news", number=1)))
    async with watched(world, frozenset({inbox.tag})) as listener:
        (row,) = await newest(world)
        await world.backend.set_flags([row.handle], FlagChange(add=frozenset({"seen"})))
        await world.settle()
        await listener.until(inbox.path)
        listener.told.clear()
        await world.empty_inbox()
        await listener.until(inbox.path)


async def test_of_a_whole_account_every_mailbox_is_told_and_a_new_one_too(world: World) -> None:
    other = await folder(world)
    async with watched(world, None) as listener:
        await world.put_into_folder(Mail(letter("filed", number=1)))
        await listener.until(other.path)
        made = await world.backend.create("Folders/New" if world.folder.startswith("Folders/") else "New", Role.FOLDER)
        await world.settle()
        await listener.until(made.path)


async def test_a_mailbox_that_is_wanted_later_is_told_from_then_on(world: World) -> None:
    inbox, other = await box(world), await folder(world)
    listener = Listener()
    async with aclosing(world.backend.watch()) as watch:

        async def listen() -> None:
            async for touched in watch:
                listener.hear(touched)

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(PATIENCE):
            await watch.want(frozenset({inbox.tag}))
            await world.put_into_folder(Mail(letter("before", number=1)))
            await watch.want(frozenset({inbox.tag, other.tag}))
        assert not listener.told
        await world.put_into_folder(Mail(letter("filed", number=2)))
        await listener.until(other.path)
        await world.put(Mail(letter("news", number=3)))
        await listener.until(inbox.path)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_folder_that_is_built_anew_is_told(world: World) -> None:
    other = await folder(world)
    await world.put_into_folder(Mail(letter("filed", number=1)))
    async with watched(world, None) as listener:
        await world.rebuild_folder(Mail(letter("filed", number=1)))
        await world.settle()
        await listener.until(other.path)
