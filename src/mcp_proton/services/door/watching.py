"""Watching: who is told that what they read may have changed, for as long as they may read it (P-64).

INVARIANT: nobody is told anything that was not judged just before, as a read would be. What is told is that there is something
to look at, never what. One watch an account, whoever follows it; it ends with the last of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError, NotFound, OverLimit, Unavailable, Unsupported
from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.operation import Request
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.ports import Opening
from mcp_proton.domain.watching import Watch
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.planning import summary
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.world import World

if TYPE_CHECKING:
    from mcp_proton.services.door.service import MailService

MOST_EACH = 256
"""followed by one client at once"""
SETTLING, APART = 0.5, 2.0
"""seconds: a burst is told once it settles, and the next one so long after it at the earliest"""
JUDGED = 15.0
"""seconds after which everybody is judged again: what may not be read any more is not watched on"""
BEGINNING = 10.0
"""seconds for which following something waits for its server"""
AGAIN = 60.0
"""seconds until a watch that a server ended is begun anew"""
_log = logging.getLogger(__name__)

Who = Callable[[], Awaitable[Caller | None]]
"""Who follows, as it is now; None: what vouched for it does so no more."""


@dataclass(eq=False)
class Follower:
    """One wish to be told. `tell` is called when there is something to look at, `ended` when nothing more will be told."""

    who: Who
    request: Request
    tell: Callable[[], None]
    ended: Callable[[], None]
    client: str = ""
    account: str = ""
    tag: str | None = None
    """of the one mailbox that it is about; None: of all that the caller may list"""
    touched: set[Mailbox] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None
    told_at: float = float("-inf")

    def concerns(self, touched: frozenset[Mailbox]) -> frozenset[Mailbox]:
        """Those of the mailboxes that it is about."""
        return frozenset(box for box in touched if self.tag is None or box.tag == self.tag)


class Watching:
    """Everybody who follows something."""

    def __init__(self, world: World, door: MailService) -> None:
        self._world, self._door = world, door
        self._followers: set[Follower] = set()
        self._watched: dict[str, _Watched] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._judging: asyncio.Task[None] | None = None
        self._aside = Context()  # what goes on by itself belongs to no request

    @property
    def followers(self) -> int:
        """How many there are."""
        return len(self._followers)

    @property
    def accounts(self) -> int:
        """How many accounts are watched, each on one connection."""
        return len(self._watched)

    async def follow(self, who: Who, request: Request, tell: Callable[[], None], ended: Callable[[], None]) -> Follower:
        """Begin to tell. Raises what reading it would be told, `Unsupported` where it never changes by itself, `OverLimit`."""
        operation = primitive(self._world.catalog.by_request[type(request)])
        if not operation.followed:
            raise Unsupported("nobody is told when this changes", next="read it when you need it")
        follower = Follower(who, request, tell, ended)
        call = await self._judged(follower)
        planned = call.planned
        assert planned is not None
        (scope,) = {impact.scope for impact in planned.impacts}
        follower.client, follower.account = call.caller.name, scope.account or ""
        if scope.mailbox is not None:
            follower.tag = (await call.mailbox(follower.account, scope.mailbox)).tag
        if Counter(one.client for one in self._followers)[follower.client] >= MOST_EACH:
            raise OverLimit("this client follows as much as it may at once", next="end what you no longer need")
        told = f"follow: {summary(operation, planned)}"
        body = request.model_dump_json(by_alias=True)
        self._world.journal.glance(
            Opening(call.caller, operation.name, planned, "", body, told, Status.EXECUTING), Status.SUCCEEDED
        )
        self._followers.add(follower)
        if self._judging is None or self._judging.done():
            self._judging = self._spawn(self._judge_all())
        try:
            await self._watch(follower.account)
        except BaseException:
            self.end(follower)
            raise
        return follower

    def end(self, follower: Follower) -> None:
        """Tell it nothing more."""
        if follower not in self._followers:
            return
        self._followers.discard(follower)
        if follower.timer is not None:
            follower.timer.cancel()
        watched = self._watched.get(follower.account)
        if watched is not None:
            if self._of(follower.account):
                self._spawn(watched.want(self._tags(follower.account)))
            else:
                del self._watched[follower.account]
                self._spawn(watched.aclose())

    async def aclose(self) -> None:
        """End everything."""
        for follower in list(self._followers):
            self.end(follower)
        if self._judging is not None:
            self._judging.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    # --- watching ------------------------------------------------------------------------------------------------------

    async def _watch(self, account: str) -> None:
        watched = self._watched.get(account)
        if watched is None:
            backend = self._world.accounts.backend(account)
            watched = self._watched[account] = _Watched(backend.watch, lambda touched: self._touched(account, touched))
            watched.task = self._spawn(watched.run())
        wanting = self._spawn(watched.want(self._tags(account)))
        done, _ = await asyncio.wait({wanting}, timeout=BEGINNING)
        if wanting.cancelled():
            raise Unavailable("the account is being closed")
        if done:
            wanting.result()
        else:  # what may have changed until it is watched after all is told then
            wanting.add_done_callback(watched.begun)

    def _tags(self, account: str) -> frozenset[str] | None:
        tags = {one.tag for one in self._of(account)}
        return None if None in tags else frozenset(tag for tag in tags if tag is not None)

    def _of(self, account: str) -> list[Follower]:
        return [one for one in self._followers if one.account == account]

    def _touched(self, account: str, touched: frozenset[Mailbox] | None) -> None:
        """Have everybody told whom it concerns; None: everybody, since nobody knows what changed."""
        now = asyncio.get_running_loop().time()
        for follower in self._of(account):
            concerned = follower.concerns(touched) if touched is not None else frozenset()
            follower.touched |= concerned
            if (concerned or touched is None) and follower.timer is None:
                self._tell_in(max(SETTLING, follower.told_at + APART - now), follower)

    # --- telling -------------------------------------------------------------------------------------------------------

    def _tell_in(self, seconds: float, follower: Follower) -> None:
        loop = asyncio.get_running_loop()
        follower.timer = loop.call_later(seconds, lambda: self._spawn(self._tell(follower)), context=self._aside)

    async def _tell(self, follower: Follower) -> None:
        touched, follower.touched, follower.timer = follower.touched, set(), None
        try:
            call = await self._judged(follower)
        except Unavailable:
            follower.touched |= touched
            if follower.timer is None and follower in self._followers:
                self._tell_in(APART, follower)
            return
        except MailError:
            self._lapse(follower)
            return
        hidden = touched and all(call.denies(Effect.LIST, follower.account, box) for box in touched)
        if follower in self._followers and not hidden:
            follower.told_at = asyncio.get_running_loop().time()
            follower.tell()

    async def _judged(self, follower: Follower) -> Call:
        caller = await follower.who()
        if caller is None:
            raise NotFound("nobody vouches for this client any more")
        return await self._door.permit(caller, follower.request)

    async def _judge_all(self) -> None:
        while self._followers:
            await asyncio.sleep(JUDGED)
            for follower in list(self._followers):
                try:
                    await self._judged(follower)
                except Unavailable:
                    continue
                except MailError:
                    self._lapse(follower)

    def _lapse(self, follower: Follower) -> None:
        if follower in self._followers:
            self.end(follower)
            follower.ended()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=self._aside)
        self._work.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, MailError):
            _log.error("fault in watching: %s", type(error).__name__)  # its words may quote mail


class _Watched:
    """The watch of one account, begun anew where its server ended it. `touched` None: nobody knows what changed."""

    def __init__(self, begin: Callable[[], Watch], touched: Callable[[frozenset[Mailbox] | None], None]) -> None:
        self._begin, self._touched = begin, touched
        self._watch = begin()
        self._wanted: frozenset[str] | None = frozenset()
        self._wanting: set[asyncio.Task[object]] = set()
        self.task: asyncio.Task[None] | None = None

    async def want(self, tags: frozenset[str] | None) -> None:
        """Watch these. Returns once they are; cancelled when it is closed before."""
        self._wanted = tags
        wanting = asyncio.current_task()
        assert wanting is not None
        self._wanting.add(wanting)
        try:
            await self._watch.want(tags)
        finally:
            self._wanting.discard(wanting)

    async def run(self) -> None:
        """Tell what changes, without end."""
        while True:
            try:
                async for touched in self._watch:
                    self._touched(touched)
            except MailError as error:
                _log.warning("an account is not watched for now: %s", error.message)
            finally:
                await self._watch.aclose()
            await asyncio.sleep(AGAIN)
            self._watch = self._begin()
            asyncio.ensure_future(self.want(self._wanted)).add_done_callback(self.begun)

    def begun(self, wanted: asyncio.Future[None]) -> None:
        """It is watched from now on; nobody knows what changed before."""
        if not wanted.cancelled() and wanted.exception() is None:
            self._touched(None)

    async def aclose(self) -> None:
        """Stop."""
        for wanting in self._wanting:
            wanting.cancel()
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
