"""Doorway: whose calls come in here, and the service they go to, opened when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_proton.domain.caller import Caller, Surface
    from mcp_proton.domain.effects import Effect
    from mcp_proton.domain.operation import Request, Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.services.door.registry import Definition
    from mcp_proton.services.door.service import MailService
    from mcp_proton.services.door.watching import Who

Opening = Callable[[], Awaitable["MailService"]]
"""Builds the service. Called at most once, unless it fails: then the next call tries again."""


Submit = Callable[[], Awaitable["Outcome[Result]"]]
Gate = Callable[["Caller", "Definition | None", "Request | None", Submit], Awaitable["Outcome[Result]"]]
"""What a call passes before it is put to the door, where many clients share a service. May raise a `MailError`.

A call that makes no sense passes it too, so that it is counted and written down: without a request where its arguments
are none, and without an operation where it names none.
"""


async def wide_open(
    caller: Caller, definition: Definition | None, request: Request | None, submit: Submit
) -> Outcome[Result]:
    """Let everything pass: one client alone cannot crowd out others."""
    return await submit()


Limited = Callable[[], "frozenset[Effect] | None"]
"""Says what the credential of the request that is being served leaves open; None: everything."""


def without_limit() -> frozenset[Effect] | None:
    """Leave everything open: the owner's rules alone decide."""
    return None


Vouching = Callable[[], Callable[[], Awaitable[bool]]]
"""Called while a request is served, gives what says, later, whether its credential still vouches for the client."""


def vouched_for() -> Callable[[], Awaitable[bool]]:
    """Vouch for ever: who has the pipe is the client."""

    async def still() -> bool:
        return True

    return still


class Doorway:
    """One client's way to the door. Answers to the handshake do not wait for the service to be built."""

    def __init__(
        self,
        opening: Opening,
        caller: Caller,
        gate: Gate = wide_open,
        limited: Limited = without_limit,
        vouching: Vouching = vouched_for,
    ) -> None:
        self.gate = gate
        self._limited, self._vouching = limited, vouching
        self._opening = opening
        self._caller = caller
        self._opened: asyncio.Task[MailService] | None = None

    def begin(self) -> None:
        """Start to open in the background, unless that is under way or done."""
        if self._opened is None or (self._opened.done() and _failed(self._opened)):
            self._opened = asyncio.create_task(self._open())
            self._opened.add_done_callback(_failed)

    async def service(self) -> MailService:
        """Return the service. Raises what opening it raised."""
        self.begin()
        assert self._opened is not None
        return await asyncio.shield(self._opened)  # one caller who gives up does not stop it for the others

    def caller(self, surface: Surface) -> Caller:
        """Return who asks, through this surface, and what the token of the present request leaves open."""
        return replace(self._caller, surface=surface, effects=self._limited())

    def lasting(self, surface: Surface) -> Who:
        """Return what says who asks for as long as the present request's credential is good, when that is over too."""
        caller, still_good = self.caller(surface), self._vouching()

        async def who() -> Caller | None:
            return caller if await still_good() else None

        return who

    async def aclose(self) -> None:
        """Stop an opening that is still under way. An open service belongs to whoever gave us the opening."""
        if self._opened is not None:
            self._opened.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._opened

    async def _open(self) -> MailService:
        return await self._opening()


def _failed(opened: asyncio.Task[MailService]) -> bool:
    return opened.cancelled() or opened.exception() is not None
