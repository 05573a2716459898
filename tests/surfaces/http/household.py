"""A JMAP server with several users, each let in by a token whose `sub` is theirs, on loopback in a thread of its own."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.servers.jmap import JmapServer
from tests.surfaces.cli.lab import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Sequence


class Household(JmapServer):
    """One door, a store for each subject. `shown` are the tokens that came, `bad` the subjects it lets in no longer."""

    def __init__(self, subjects: Sequence[str]) -> None:
        super().__init__()
        self.homes = {one: JmapServer(account=f"acc-{one}") for one in subjects}
        self.shown: list[str] = []
        self.bad: set[str] = set()

    async def _answer(
        self, verb: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes] | None:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.shown.append(token)
        subject = _subject(token)
        if subject in self.bad or subject not in self.homes:
            return 401, {}, b""
        home = self.homes[subject]
        home.token = token
        return await home._answer(verb, path, headers, body)


class InThread(Elsewhere):
    """The same behind a real port."""

    def __init__(self, *subjects: str) -> None:
        super().__init__()
        self.server = Household(subjects)

    async def start(self) -> None:
        await self._stack.enter_async_context(self.server)


def _subject(token: str) -> str:
    try:
        body = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"])
    except (ValueError, LookupError):
        return ""
