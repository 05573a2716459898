"""Which mailboxes a change in an account touched: by what the server says changed since the state before (RFC 8621 §4.3), and
by their counts for what is gone. Where it cannot say, every mailbox counts as touched.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from mcp_proton.domain.errors import AuthFailed, MailError, Untrusted
from mcp_proton.domain.pauses import doubled
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.occurrences import pages
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.watching import Watch

T = TypeVar("T")
MOST = 500
"""changed messages that are looked at one by one"""
LONGEST = 60.0
"""seconds between tries"""


class Touching:
    """See `mcp_proton.domain.watching.Watch`. `watch` tells that something changed."""

    def __init__(self, client: Client, mailboxes: Mailboxes, watch: Watch) -> None:
        self._client, self._mailboxes, self._watch = client, mailboxes, watch
        self._wanted: frozenset[str] | None = frozenset()
        self._stirred = asyncio.Event()
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begun.add_done_callback(lambda begun: begun.cancelled() or begun.exception())
        self._state = ""
        self._seen: dict[str, Mailbox] = {}
        self._changes = self._run()

    async def want(self, tags: frozenset[str] | None) -> None:
        """From now on these: the whole account is followed anyway."""
        self._wanted = tags
        self._stirred.set()
        await asyncio.shield(self._begun)

    def __aiter__(self) -> Touching:
        return self

    async def __anext__(self) -> frozenset[Mailbox]:
        return await anext(self._changes)

    async def aclose(self) -> None:
        """Stop listening."""
        await self._changes.aclose()
        await self._watch.aclose()
        self._begun.cancel()

    async def _run(self) -> AsyncGenerator[frozenset[Mailbox]]:
        await self._stirred.wait()
        try:
            await self._watch.begin()
            await _patiently(self._begin)
        except MailError as error:
            self._begun.set_exception(error)
            raise
        self._begun.set_result(None)
        async for _ in self._watch:
            touched = await _patiently(self._touched)
            found = frozenset(box for box in touched if self._wanted is None or box.tag in self._wanted)
            if found:
                yield found

    async def _begin(self) -> None:
        (answer,) = await self._client.demand(Call("Email/get", {"ids": [], "properties": ["id"]}))
        self._state, self._seen = values.state(answer.get("state")), await self._boxes()

    async def _touched(self) -> list[Mailbox]:
        """The mailboxes that hold what was made or changed, and those that look otherwise than before."""
        before = self._seen
        changed, state = await self._changed(self._state)
        if changed is None:
            await self._begin()
            return [*{**before, **self._seen}.values()]
        after = await self._boxes()
        self._seen, self._state = after, state
        return [box for one, box in {**before, **after}.items() if one in changed or before.get(one) != after.get(one)]

    async def _changed(self, since: str) -> tuple[frozenset[str] | None, str]:
        """The ids of the mailboxes with messages that were made or changed since, None where the server does not say; and the
        state now."""
        (told,) = await self._client.ask(Call("Email/changes", {"sinceState": since, "maxChanges": MOST}))
        if isinstance(told, MethodFailed) or told.get("hasMoreChanges") is True:
            return None, ""
        ids = [values.identifier(one) for kind in ("created", "updated") for one in values.sequence(told.get(kind))]
        found: set[str] = set()
        for some in pages(ids, (await self._client.limits()).objects_in_get):
            (answer,) = await self._client.demand(Call("Email/get", {"ids": some, "properties": ["mailboxIds"]}))
            for one in values.sequence(answer.get("list")):
                found.update(values.mapping(values.mapping(one).get("mailboxIds") or {}))
        return frozenset(found), values.state(told.get("newState"))

    async def _boxes(self) -> dict[str, Mailbox]:
        return {box.id: box for box in await self._mailboxes.all(counts=True)}


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do it, again and again where the server cannot be reached."""
    failures = 0
    while True:
        try:
            return await work()
        except (AuthFailed, Untrusted):
            raise
        except MailError:
            failures += 1
            await asyncio.sleep(doubled(failures, 1.0, LONGEST))
