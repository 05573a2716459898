"""A date index outlives the process where there is a store for it (design: kept per UIDVALIDITY)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.bridge.backend import BridgeBackend
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.login.endpoint import Credentials
from tests.contract import worlds
from tests.contract.letters import letter

if TYPE_CHECKING:
    from tests.servers.bridges import Door

MANY = 1_100


class Store:
    """A store in memory that counts."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, int], bytes] = {}
        self.saves = 0

    async def load(self, account: str, tag: str, uidvalidity: int) -> bytes | None:
        return self.kept.get((account, tag, uidvalidity))

    async def save(self, account: str, tag: str, uidvalidity: int, octets: bytes) -> None:
        self.saves += 1
        self.kept[account, tag, uidvalidity] = octets


def backend(door: Door, store: Store) -> BridgeBackend:
    async def secret() -> str:
        return door.password

    return BridgeBackend("me", worlds.endpoint(door), Credentials(door.username, secret), dates=store)


async def first_page(one: BridgeBackend) -> tuple[list[str], bool]:
    inbox = next(box for box in await one.mailboxes() if box.path == "INBOX")
    found = await one.search([inbox], All(), Page(3))
    return [row.subject for row in found.rows], found.coverage.complete


async def test_the_first_page_is_exact_in_the_next_process_and_after_a_rebuild_it_is_not() -> None:
    store = Store()
    messages = [worlds.given(letter(f"number {n}", number=n), n) for n in range(MANY)]
    newest = [f"number {n}" for n in range(MANY - 1, MANY - 4, -1)]
    async with worlds.bridge(messages) as world:
        for process, complete in enumerate((False, True, False)):
            if process == 2:
                world.bridge.repair()
            one = backend(world.bridge.door, store)
            try:
                assert await first_page(one) == (newest, complete)
                for _ in range(200):
                    if store.saves > process // 2:
                        break
                    await asyncio.sleep(0.02)
            finally:
                await one.aclose()
    assert store.saves == 2
