"""The simulator as a whole: a Bridge on a loopback port, the accounts behind it, and the strings a test pulls."""

from __future__ import annotations

import asyncio
import random
from itertools import islice
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from mcp_proton.simulator.account import Account
from mcp_proton.simulator.api import Api
from mcp_proton.simulator.appending import Appender
from mcp_proton.simulator.certificate import Certificate, make_certificate
from mcp_proton.simulator.clock import Clock, HostClock
from mcp_proton.simulator.events import SYNC_BATCH
from mcp_proton.simulator.faults import FaultScript
from mcp_proton.simulator.given import GivenMessage, GivenUser
from mcp_proton.simulator.parser import COMMANDS
from mcp_proton.simulator.served import Shelf
from mcp_proton.simulator.session import Session
from mcp_proton.simulator.settings import Settings
from mcp_proton.simulator.store import UIDVALIDITY_EPOCH
from mcp_proton.simulator.users import BridgeUser

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from types import TracebackType

    from mcp_proton.simulator.account import Message, Model
    from mcp_proton.simulator.store import Mailbox
    from mcp_proton.simulator.users import AddressMode, Tree

T = TypeVar("T")
LOOPBACK = "127.0.0.1"
DEFAULT_ADDRESS = "alice@proton.local"


class Simulator:
    """A Proton Mail Bridge 3.21.1 with made-up accounts behind it: `async with Simulator(...) as sim`.

    `users` says who is signed in and what they hold; `messages` and `labels` are a shorthand for one user. `event_delay`
    is how long (from, to, in seconds) a change made elsewhere takes to be seen; None leaves it to `release_events`.
    `first_sync` is how many messages a second the first sync brings; None means it is complete before the port opens,
    or, without `complete_first_sync`, left to `sync_some`.
    """

    greeting_text = "Proton Mail Bridge 03.21.01"

    def __init__(
        self,
        messages: Iterable[GivenMessage] = (),
        *,
        users: Iterable[GivenUser] | None = None,
        mode: AddressMode = "combined",
        model: Model = "real",
        clock: Clock | None = None,
        port: int = 0,
        event_delay: tuple[float, float] | None = None,
        first_sync: float | None = None,
        complete_first_sync: bool = True,
        certificate: Certificate | None = None,
        implicit_tls: bool = False,
        zone: str = "UTC",
        seed: int = 0,
    ) -> None:
        self.clock: Clock = clock or HostClock()
        self.settings = Settings()
        self.faults = FaultScript()
        self.api = Api(self.faults, self.wait)
        self.zone: dt.tzinfo = ZoneInfo(zone)
        self.implicit_tls = implicit_tls
        self.sessions: set[Session] = set()
        self.parked = 0
        self.is_offline = False
        self._certificate = certificate or make_certificate()
        self.tls_context = self._certificate.server_context()
        self._shelf = Shelf()
        self._random = random.Random(seed)  # noqa: S311 - passwords and ids of a simulation
        self._disorder = random.Random(seed)  # noqa: S311 - an order
        self._port = port
        self._last_uidvalidity = 0
        self._failed_logins = 0
        self._session_count = 0
        self._event_delay = event_delay
        self._first_sync = first_sync
        self._is_synced = complete_first_sync and first_sync is None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._status_hook: Callable[[Mailbox], None] | None = None
        self.users: list[BridgeUser] = []
        default = GivenUser("alice", [DEFAULT_ADDRESS], messages=list(messages))
        for given in users if users is not None else [default]:
            self._add_user(given, mode, model, seed)

    def _add_user(self, given: GivenUser, mode: AddressMode, model: Model, seed: int) -> None:
        account = Account(given.name, given.addresses, model=model, seed=seed)
        for label in given.labels:
            account.add_label(label)
        for message in given.messages:
            account.add(message, now=self.clock.now())
        account.log.clear()
        user = BridgeUser(
            account, api=self.api, shelf=self._shelf, draw_uidvalidity=self._draw_uidvalidity,
            random_source=self._random, mode=mode,
        )  # fmt: skip
        user.signed_in = given.signed_in
        user.begin_sync()
        if self._is_synced:
            user.finish_sync()
        self.users.append(user)

    # -- what a client needs

    @property
    def host(self) -> str:
        """The address it listens on."""
        return LOOPBACK

    @property
    def imap_port(self) -> int:
        """The IMAP port; known once it runs, and kept over restarts."""
        return self._port

    @property
    def certificate_pem(self) -> str:
        """The certificate a client must pin."""
        return self._certificate.pem

    @property
    def username(self) -> str:
        """The first user's primary address."""
        return self.users[0].account.primary

    @property
    def password(self) -> str:
        """The first user's Bridge password."""
        return self.users[0].password

    # -- life

    async def __aenter__(self) -> Simulator:
        await self.start()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the port and begin with events and the first sync."""
        await self.listen()
        if self._event_delay is not None:
            self._spawn(self._event_loop(*self._event_delay))
        if self._first_sync is not None:
            self._spawn(self._sync(self._first_sync))

    async def stop(self) -> None:
        """Close everything."""
        await self.close_port()
        for task in [*self._tasks, *self._serving]:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._serving, return_exceptions=True)

    async def listen(self) -> None:
        """Open the IMAP port (the same one again after it was closed)."""
        self._server = await asyncio.start_server(
            self._serve, LOOPBACK, self._port, ssl=self.tls_context if self.implicit_tls else None, limit=2**20
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def close_port(self) -> None:
        """Close the port and every session, without a word."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.close_sessions()
        await asyncio.sleep(0)

    @property
    def is_listening(self) -> bool:
        """Whether the port is open."""
        return self._server is not None

    def close_sessions(self, user: BridgeUser | None = None) -> None:
        """Close all sessions, or those of one user."""
        for session in list(self.sessions):
            if user is None or session.user is user:
                session.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._session_count += 1
        session = Session(self, reader, writer, self._session_count)
        self.sessions.add(session)
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            await session.run()
        except asyncio.CancelledError:
            # Only `stop` cancels, and asyncio's streams would log it as an error.
            session.close()
        finally:
            self.sessions.discard(session)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self, seconds: float) -> None:
        """Let time pass for somebody at work; counted, so that a driver of the clock sees who waits."""
        self.parked += 1
        try:
            await self.clock.sleep(seconds)
        finally:
            self.parked -= 1

    # -- what happens to a Bridge

    async def restart(self) -> None:
        """Stop and start Bridge: sessions end; UIDs, UIDVALIDITY and local flags stay."""
        await self.close_port()
        self._failed_logins = 0
        self.settings.has_idle = self.settings.idle_from_next_start
        self.settings.authenticate_at_starts -= 1
        if self.settings.authenticate_at_starts == 0:
            self.settings.has_authenticate = False
        for user in self.users:
            for tree in user.trees.values():
                tree.view.restarted()
        await self.listen()

    async def go_offline(self) -> None:
        """The network is lost: Bridge closes its port and all sessions, and hears of no events."""
        self.is_offline = True
        await self.close_port()

    async def go_online(self) -> None:
        """The network is back."""
        self.is_offline = False
        await self.listen()

    def process_ended(self) -> None:
        """Bridge's process is gone: port and sessions close, and nothing comes back by itself."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.close_sessions()

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

    async def _event_loop(self, shortest: float, longest: float) -> None:
        while True:
            await self.clock.sleep(self._random.uniform(shortest, longest))
            for user in self.users:
                for tree in user.trees.values():
                    # Events wait for a write that is under way.
                    async with tree.view.gate.reading():
                        pass
                self._poll(user)

    async def _sync(self, per_second: float) -> None:
        while any(user.is_syncing for user in self.users):
            await self.clock.sleep(SYNC_BATCH / per_second)
            self.sync_some(SYNC_BATCH)

    def sync_some(self, count: int) -> None:
        """Bring the first sync of every user so many messages further."""
        for user in self.users:
            user.sync_some(count)

    # -- what sessions ask

    def user_of(self, address: str) -> BridgeUser | None:
        """The user an address belongs to, in any case."""
        wanted = address.lower()
        return next((user for user in self.users if any(one.lower() == wanted for one in user.account.addresses)), None)

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
        return Appender(user.account, tree, self.api, self.clock, self._shelf, address or None)

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
