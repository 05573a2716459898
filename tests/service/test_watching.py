"""Following, where the server of an account is away, refuses the login, or comes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.services.door import watching
from mcp_proton.testing.watching import MemoryWatch
from tests.service.conftest import CATALOG, letter

if TYPE_CHECKING:
    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.mail import Mailbox
    from tests.service.conftest import House

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("SETTLING", 0.01), ("APART", 0.02), ("JUDGED", 0.05), ("BEGINNING", 0.1), ("AGAIN", 0.05)):
        monkeypatch.setattr(watching, name, seconds)


class Following:
    """One client that follows the inbox."""

    def __init__(self, house: House) -> None:
        self.house, self.told, self.over = house, 0, False

    async def who(self) -> Caller:
        return self.house.agent

    async def begin(self) -> watching.Follower:
        request = CATALOG.by_name["messages_list"].request.model_validate({"account": "personal"})
        return await self.house.service.watching.follow(self.who, request, self._tell, self._end)

    def _tell(self) -> None:
        self.told += 1

    def _end(self) -> None:
        self.over = True

    async def until_told(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.told:
                await asyncio.sleep(0.005)


class Broken:
    """A watch that ends with an error, or never begins."""

    def __init__(self, error: AuthFailed | None) -> None:
        self._error = error

    async def want(self, tags: frozenset[str] | None) -> None:
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()

    def __aiter__(self) -> Broken:
        return self

    async def __anext__(self) -> frozenset[Mailbox]:
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        """Nothing is open."""


def breaks(house: House, monkeypatch: pytest.MonkeyPatch, *broken: Broken | MemoryWatch) -> list[object]:
    """Have the first watches be these."""
    real, made = house.personal.watch, list[object]()

    def watch() -> MemoryWatch | Broken:
        made.append(broken[len(made)] if len(made) < len(broken) else real())
        return made[-1]

    monkeypatch.setattr(house.personal, "watch", watch)
    return made


async def test_where_the_login_is_refused_following_is_too(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(house, monkeypatch, Broken(AuthFailed("no")))
    with pytest.raises(AuthFailed):
        await Following(house).begin()
    assert (house.service.watching.followers, house.service.watching.accounts) == (0, 0)
    await house.service.aclose()


async def test_a_server_that_is_away_keeps_nobody_from_following_or_the_service_from_ending(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = Following(house)
    breaks(house, monkeypatch, Broken(None))
    await following.begin()
    assert not following.told
    await house.service.aclose()
    assert house.service.watching.accounts == 0


class Ending(MemoryWatch):
    """A watch that ends when a test says so."""

    error: AuthFailed | None = None

    async def __anext__(self) -> frozenset[Mailbox]:
        while self.error is None:
            await asyncio.sleep(0.005)
        raise self.error


async def test_a_watch_that_was_ended_is_begun_anew_and_everybody_looks(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    following, first = Following(house), Ending(house.personal.boxes)
    made = breaks(house, monkeypatch, first)
    await following.begin()
    assert not following.told
    first.error = AuthFailed("signed out")
    await following.until_told()
    assert len(made) == 2
    following.told = 0
    house.personal.add("INBOX", letter())
    await following.until_told()
    await house.service.aclose()
