"""Bridge without its port: the accounts signed in, their events and syncs, logins, settings and faults."""

from __future__ import annotations

import asyncio
import random
import secrets
from abc import ABC, abstractmethod
from itertools import islice
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from mcp_proton.simulator.clock import Clock, HostClock
from mcp_proton.simulator.faults import FaultScript
from mcp_proton.simulator.given import GivenMessage, GivenUser
from mcp_proton.simulator.imap.appending import Appender
from mcp_proton.simulator.imap.parser import COMMANDS
from mcp_proton.simulator.proton.account import Account
from mcp_proton.simulator.proton.api import Api
from mcp_proton.simulator.settings import Settings
from mcp_proton.simulator.smtp.service import SendingService
from mcp_proton.simulator.view.served import Shelf
from mcp_proton.simulator.view.store import UIDVALIDITY_EPOCH
from mcp_proton.simulator.view.users import BridgeUser

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator

    from mcp_proton.simulator.proton.account import Model
    from mcp_proton.simulator.proton.departures import Departure
    from mcp_proton.simulator.proton.message import Message
    from mcp_proton.simulator.view.store import Mailbox
    from mcp_proton.simulator.view.users import AddressMode, Tree

T = TypeVar("T")


class Bridge(ABC):
    """What there is of a Bridge besides its connections; `close_sessions` ends those.

    `sent` is what left its accounts by SMTP, the first first.
    """

    def __init__(
        self,
        users: Iterable[GivenUser],
        *,
        mode: AddressMode,
        model: Model,
        clock: Clock | None,
        zone: str,
        seed: int,
        is_synced: bool,
    ) -> None:
        self.clock: Clock = clock or HostClock()
        self.settings = Settings()
        self.faults = FaultScript()
        self.api = Api(self.faults, self.settings, self.wait)
        self.sent: list[Departure] = []
        self.zone: dt.tzinfo = ZoneInfo(zone)
        self.parked = 0
        self.is_offline = False
        self._shelf = Shelf()
        self._random = random.Random(seed)  # noqa: S311 - passwords and ids of a simulation
        self._disorder = random.Random(seed)  # noqa: S311 - an order
        self._last_uidvalidity = 0
        self._failed_logins = 0
        self._status_hook: Callable[[Mailbox], None] | None = None
        self.users = [self._signed_in(given, mode, model, seed, is_synced=is_synced) for given in users]

    def _signed_in(
        self, given: GivenUser, mode: AddressMode, model: Model, seed: int, *, is_synced: bool
    ) -> BridgeUser:
        account = Account(given.name, given.addresses, model=model, seed=seed)
        for label in given.labels:
            account.add_label(label)
        for message in given.messages:
            account.add(message, now=self.clock.now())
        account.log.clear()
        user = BridgeUser(
            account, api=self.api, shelf=self._shelf, draw_uidvalidity=self._draw_uidvalidity,
            random_source=self._random, mode=mode, sending=self._sending_service(),
        )  # fmt: skip
        user.signed_in = given.signed_in
        user.begin_sync()
        if is_synced:
            user.finish_sync()
        return user

    @abstractmethod
    def close_sessions(self, user: BridgeUser | None = None) -> None:
        """Close all sessions, or those of one user."""

    async def wait(self, seconds: float) -> None:
        """Let time pass for somebody at work; counted, so that a driver of the clock sees who waits."""
        self.parked += 1
        try:
            await self.clock.sleep(seconds)
        finally:
            self.parked -= 1

    async def wait_for(self, future: asyncio.Future[bool], seconds: float | None) -> bool:
        """Wait for a future so many seconds of the clock, or for as long as it takes; False if in vain. Counted as `wait`."""
        timer = None
        if seconds is not None:
            timer = asyncio.ensure_future(self.clock.sleep(seconds))
            timer.add_done_callback(lambda _: _give_up(future))
            # The timer looks at the clock when it first runs; before that nobody may think that all wait.
            await asyncio.sleep(0)
        self.parked += 1
        try:
            return await future
        finally:
            self.parked -= 1
            if timer is not None:
                timer.cancel()

    def _sending_service(self) -> SendingService:
        return SendingService(self.clock, self.wait_for)

    @property
    def greeting_text(self) -> str:
        """What the greeting says it is."""
        return f"Proton Mail Bridge {self.settings.version}" if self.settings.version else "ready"

    # -- what happens to it

    def sign_out(self, user: BridgeUser) -> None:
        """An account signs out; its sessions end, its local data stays."""
        user.signed_in = False
        self.close_sessions(user)

    def sign_in(self, user: BridgeUser) -> None:
        """It signs in again; what changed meanwhile is fetched."""
        user.signed_in = True
        self._poll(user)

    def repair(self) -> None:
        """Bridge's repair: everything is loaded anew, sessions end."""
        self.close_sessions()
        self.resync()

    def resync(self, user: BridgeUser | None = None) -> None:
        """A forced resync: new UIDVALIDITY, new UIDs; open sessions go on with what they had."""
        for one in self.users if user is None else [user]:
            one.begin_sync()
            one.finish_sync()

    def wipe(self, user: BridgeUser | None = None) -> None:
        """Bridge's local data is lost: sessions end, and everything has to come again, by `sync_some`."""
        for one in self.users if user is None else [user]:
            self.close_sessions(one)
            one.begin_sync()

    def lose(self, count: int) -> None:
        """So many messages are missing from what Bridge shows, though the account has them; no event tells of it."""
        for user in self.users:
            for tree in user.trees.values():
                for message in list(tree.view.messages.values())[:count]:
                    tree.view.forget(message)

    def rebuild_uidvalidity(self) -> None:
        """Give every mailbox a new UIDVALIDITY and new UIDs under the sessions' feet."""
        self.resync()

    def switch_mode(self, mode: AddressMode, user: BridgeUser | None = None) -> None:
        """Change the address mode: sessions end, everything is loaded anew."""
        for one in self.users if user is None else [user]:
            self.close_sessions(one)
            one.switch_mode(mode)

    def empty_message_cache(self) -> None:
        """Bridge's disk cache of literals is gone."""
        self._shelf.clear()
        for user in self.users:
            for tree in user.trees.values():
                for message in tree.view.messages.values():
                    message.lost = True

    # -- the account, elsewhere

    def user(self, name: str | None = None) -> BridgeUser:
        """A user by name or address; the first one by default."""
        if name is None:
            return self.users[0]
        return next(user for user in self.users if user.account.name == name or name in user.account.addresses)

    def account(self, name: str | None = None) -> Account:
        """A user's account on the server, to be changed as another device would."""
        return self.user(name).account

    def deliver(self, raw: bytes, *, to: str | None = None, **how: object) -> Message:
        """New mail reaches an account; the keywords are GivenMessage's. Bridge hears of it by the next event."""
        return self.account(to).add(GivenMessage(raw, **how), now=self.clock.now())  # type: ignore[arg-type] # a dataclass checks

    def release_events(self, name: str | None = None) -> None:
        """Bridge fetches and applies all events now, of one user or of all."""
        for user in self.users if name is None else [self.user(name)]:
            self._poll(user)

    def state(self, name: str | None = None) -> dict[str, dict[str, object]]:
        """The true state of an account: each message's places, flags, unread, subject by key (or id)."""
        return self.account(name).state()

    def _poll(self, user: BridgeUser) -> None:
        if self.is_offline:
            return
        outcome = user.poll()
        if outcome == "refresh":
            self.close_sessions(user)
            self.resync(user)
        elif outcome == "given up":
            self.sign_out(user)

    def prepare(self) -> None:
        """Work out now what FETCH would on first demand (sizes, envelopes, structures), so that a client can be measured."""
        for user in self.users:
            for tree in user.trees.values():
                for message in tree.view.messages.values():
                    message.prepare()

    def sync_some(self, count: int) -> None:
        """Bring the first sync of every user so many messages further."""
        for user in self.users:
            user.sync_some(count)

    # -- what sessions ask

    def user_of(self, address: str) -> BridgeUser | None:
        """The user an address belongs to, in any case."""
        wanted = address.lower()
        return next((user for user in self.users if any(one.lower() == wanted for one in user.account.addresses)), None)

    async def smtp_login(self, address: str, password: str) -> BridgeUser | None:
        """The user whose enabled address and password these are; each account is asked in its turn."""
        for user in self.users:
            if user.signed_in:
                async with user.sending.loop.turn():
                    if user.has_enabled(address) and _is_same(user.password, password):
                        return user
        return None

    def login_failed(self) -> str:
        """Count a failed login; the text to answer."""
        self._failed_logins += 1
        return "too many login attempts" if self._failed_logins % 3 == 0 else "no such user"

    def login_succeeded(self) -> None:
        """A good login starts the count anew."""
        self._failed_logins = 0

    def appender_for(self, user: BridgeUser, tree: Tree) -> Appender:
        """What imports into one tree."""
        address = next((address for address, one in user.trees.items() if one is tree), "")
        return Appender(user, tree, self.api, self.clock, self._shelf, address or None, self.settings)

    def known_commands(self) -> frozenset[str]:
        """The commands the parser knows."""
        known = frozenset(COMMANDS)
        return known if self.settings.has_authenticate else known - {"authenticate"}

    def on_status(self, hook: Callable[[Mailbox], None] | None) -> None:
        """Call this in the middle of every STATUS: after the counts were read, before UIDNEXT is."""
        self._status_hook = hook

    def between_status_reads(self, mailbox: Mailbox) -> None:
        """The middle of a STATUS."""
        if self._status_hook is not None:
            self._status_hook(mailbox)

    def any_order(self, things: Iterable[T], window: int) -> Iterator[T]:
        """Things in the disorder of Bridge's answers: each at most a window away from its place."""
        rest = iter(things)
        while batch := list(islice(rest, window)):
            if not self.settings.answers_in_order:
                self._disorder.shuffle(batch)
            yield from batch

    def _draw_uidvalidity(self) -> int:
        self._last_uidvalidity = max(self._last_uidvalidity + 1, int(self.clock.now()) - UIDVALIDITY_EPOCH)
        return self._last_uidvalidity


def _give_up(future: asyncio.Future[bool]) -> None:
    if not future.done():
        future.set_result(False)


def _is_same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode("latin-1"))
