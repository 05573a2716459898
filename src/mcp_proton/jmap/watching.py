"""Watching an account: told by the server as it happens (EventSource, RFC 8620 §7.3) where it does that, asked now and then
elsewhere.

INVARIANT: no change is missed. After each connection the states are asked for once and compared with those known, so that
what happened while nobody listened is told too; a stream that falls silent is taken for dead.
"""

from __future__ import annotations

import asyncio
import random
import re
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.domain.pauses import doubled
from mcp_proton.jmap.errors import MethodFailed, ProtocolViolation
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call
from mcp_proton.jmap.protocol.eventsource import Events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.eventsource import Event

_IDENTIFIABLE = re.compile(r"[\x21-\x7e]{1,512}")


class Kind(StrEnum):
    """What something changed about."""

    MAIL = "Email"
    MAILBOXES = "Mailbox"


@dataclass(frozen=True, slots=True)
class Changed:
    """Something changed in the account: look at it anew. Several changes at once are told once."""

    kinds: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class Habits:
    """Seconds. `poll` between looks where the server tells nothing; `ping` between its signs of life, as we ask for them, and
    `silence` that is borne (servers may be slower: RFC 8620 §7.3); pauses after failures double from `first` to `longest`,
    with jitter."""

    poll: float = 30.0
    ping: int = 60
    silence: float = 330.0
    first: float = 1.0
    longest: float = 60.0


class Watch:
    """An async iterator of `Changed`, without end: it connects again by itself.

    It ends with an error only where going on is no use (the login is refused). `pushed` says whether the server tells.
    """

    def __init__(self, client: Client, habits: Habits | None = None) -> None:
        self._client, self._habits = client, habits or Habits()
        self._known: dict[Kind, str] = {}
        self._failures = 0
        self._last_id = ""
        self.pushed = False
        self._changes = self._run()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Changed:
        return await anext(self._changes)

    async def aclose(self) -> None:
        """Stop listening."""
        await self._changes.aclose()

    async def _run(self) -> AsyncGenerator[Changed]:
        await self.begin()
        while True:
            try:
                async with aclosing(self._told()) as told:
                    async for changed in told:
                        self._failures = 0
                        yield changed
            except Unavailable as error:
                if not error.retry and not isinstance(error, ProtocolViolation):
                    raise
                self._failures += 1
            self.pushed = False
            await asyncio.sleep(self._pause())

    async def begin(self) -> None:
        """Ask for the states from which on changes are told, until the server answers or refuses the login. At the first
        step, unless it was called before."""
        while not self._known:
            try:
                self._known = await self._states()
            except Unavailable as error:
                if not error.retry:
                    raise
                self._failures += 1
                await asyncio.sleep(self._pause())

    async def _told(self) -> AsyncGenerator[Changed]:
        """By the server, as long as its stream holds; one look where it tells nothing."""
        habits = self._habits
        async with aclosing(self._client.events(Kind, self._last_id, habits.ping, habits.silence)) as octets:
            opened = await anext(octets, None)
            self.pushed = opened is not None
            if changed := self._news(await self._states()):
                yield changed
            self._failures = 0
            stream = Events(self._last_id)
            async for some in octets:
                for event in stream.feed(some):
                    self._last_id = event.id if _IDENTIFIABLE.fullmatch(event.id) else ""
                    if changed := self._news(await self._read(event)):
                        yield changed

    def _pause(self) -> float:
        habits = self._habits
        if not self._failures:
            return habits.first if self._client.pushes else habits.poll
        longest = doubled(self._failures, habits.first, habits.longest)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing

    def _news(self, states: dict[Kind, str]) -> Changed | None:
        fresh = frozenset(kind for kind, state in states.items() if self._known.get(kind) != state)
        self._known |= states
        return Changed(fresh) if fresh else None

    async def _states(self) -> dict[Kind, str]:
        calls = [Call(f"{kind.value}/get", {"ids": [], "properties": ["id"]}) for kind in Kind]
        answers = await self._client.ask(*calls)
        found = {}
        for kind, answer in zip(Kind, answers, strict=True):
            if isinstance(answer, MethodFailed):
                raise ProtocolViolation("the mail server does not say in which state it is")
            found[kind] = values.state(answer.get("state"))
        return found

    async def _read(self, event: Event) -> dict[Kind, str]:
        """The states of this account that an event tells; none where it tells something else."""
        if event.kind != "state":
            return {}
        account = (await self._client.session()).account
        try:
            changed = values.mapping(values.parsed(event.data.encode()).get("changed") or {})
            told = values.mapping(changed.get(account) or {})
            return {kind: values.state(told[kind.value]) for kind in Kind if told.get(kind.value) is not None}
        except MailError:
            return await self._states()
