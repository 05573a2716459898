"""The simulator as a whole: a Bridge on two loopback ports, the accounts behind it, and the strings a test pulls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.simulator.bridge import Bridge
from mcp_proton.simulator.certificate import Certificate, make_certificate
from mcp_proton.simulator.given import GivenMessage, GivenUser
from mcp_proton.simulator.imap.session import Session
from mcp_proton.simulator.port import Port
from mcp_proton.simulator.smtp.session import SmtpSession
from mcp_proton.simulator.view.events import SYNC_BATCH

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from types import TracebackType

    from mcp_proton.simulator.clock import Clock
    from mcp_proton.simulator.proton.account import Model
    from mcp_proton.simulator.view.users import AddressMode, BridgeUser

DEFAULT_ADDRESS = "alice@proton.local"
_SERVERS_ARE_DOWN = 2.0


class Simulator(Bridge):
    """A Proton Mail Bridge 3.21.1 with made-up accounts behind it: `async with Simulator(...) as sim`.

    `users` says who is signed in and what they hold; `messages` is a shorthand for one user's. `event_delay`
    is how long (from, to, in seconds) a change made elsewhere takes to be seen; None leaves it to `release_events`.
    `first_sync` is how many messages a second the first sync brings; None means it is complete before the port opens,
    or, without `complete_first_sync`, left to `sync_some`.
    """

    def __init__(
        self,
        messages: Iterable[GivenMessage] = (),
        *,
        users: Iterable[GivenUser] | None = None,
        mode: AddressMode = "combined",
        model: Model = "real",
        clock: Clock | None = None,
        port: int = 0,
        smtp_port: int = 0,
        event_delay: tuple[float, float] | None = None,
        first_sync: float | None = None,
        complete_first_sync: bool = True,
        certificate: Certificate | None = None,
        implicit_tls: bool = False,
        smtp_implicit_tls: bool = False,
        zone: str = "UTC",
        seed: int = 0,
    ) -> None:
        self.implicit_tls = implicit_tls
        self.smtp_implicit_tls = smtp_implicit_tls
        self.sessions: set[Session] = set()
        self.smtp_sessions: set[SmtpSession] = set()
        self._certificate = certificate or make_certificate()
        self.tls_context = self._certificate.server_context()
        self._imap = Port(port, self._serve_imap, self.tls_context if implicit_tls else None)
        self._smtp = Port(smtp_port, self._serve_smtp, self.tls_context if smtp_implicit_tls else None)
        self._session_count = 0
        self._event_delay = event_delay
        self._first_sync = first_sync
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[None]] = set()
        super().__init__(
            list(users) if users is not None else [GivenUser("alice", [DEFAULT_ADDRESS], messages=list(messages))],
            mode=mode,
            model=model,
            clock=clock,
            zone=zone,
            seed=seed,
            is_synced=complete_first_sync and first_sync is None,
        )

    # -- what a client needs

    @property
    def host(self) -> str:
        """The address it listens on."""
        return self._imap.host

    @property
    def imap_port(self) -> int:
        """The IMAP port; known once it runs, and kept over restarts."""
        return self._imap.number

    @property
    def smtp_port(self) -> int:
        """The SMTP port; known once it runs, and kept over restarts."""
        return self._smtp.number

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
        """Open the ports and begin with events and the first sync."""
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
        """Open the ports (the same ones again after they were closed); both or, where one is taken, none."""
        await self._smtp.open()
        try:
            await self._imap.open()
        except BaseException:
            self._smtp.close()
            raise

    async def close_port(self) -> None:
        """Close the ports and every session, without a word."""
        self._close()
        await asyncio.sleep(0)

    def _close(self) -> None:
        self._imap.close()
        self._smtp.close()
        self.close_sessions()
        self._close_smtp_sessions()

    @property
    def is_listening(self) -> bool:
        """Whether the ports are open."""
        return self._imap.is_open

    def close_sessions(self, user: BridgeUser | None = None) -> None:
        """Close all IMAP sessions, or those of one user."""
        for session in list(self.sessions):
            if user is None or session.user is user:
                session.close()

    def _close_smtp_sessions(self) -> None:
        for session in list(self.smtp_sessions):
            session.close()

    async def _serve_imap(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._session_count += 1
        session = Session(self, reader, writer, self._session_count)
        self.sessions.add(session)
        await self._run(session)
        self.sessions.discard(session)

    async def _serve_smtp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = SmtpSession(self, reader, writer)
        self.smtp_sessions.add(session)
        await self._run(session)
        self.smtp_sessions.discard(session)

    async def _run(self, session: Session | SmtpSession) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            await session.run()
        except asyncio.CancelledError:
            # Only `stop` cancels, and asyncio's streams would log it as an error.
            session.close()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
            user.sending = self._sending_service()
            for tree in user.trees.values():
                tree.view.restarted()
        await self.listen()

    def restart_smtp(self) -> None:
        """Bridge takes the network for lost and back: SMTP connections end in the middle of whatever they do.

        For a moment no connections are taken, by SMTP or IMAP; what is open by IMAP stays.
        """
        self._smtp.close()
        self._imap.close()
        self._close_smtp_sessions()
        self._spawn(self._listen_again())

    async def _listen_again(self) -> None:
        await self.clock.sleep(_SERVERS_ARE_DOWN)
        if not self.is_offline:
            await self.listen()

    async def go_offline(self) -> None:
        """The network is lost: Bridge closes its ports and all sessions, and hears of no events."""
        self.is_offline = True
        await self.close_port()

    async def go_online(self) -> None:
        """The network is back."""
        self.is_offline = False
        await self.listen()

    def process_ended(self) -> None:
        """Bridge's process is gone: ports and sessions close, and nothing comes back by itself."""
        self._close()

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
