"""The accounts the contract is held against: each can be filled from outside and rebuilt, and is read through the port.

Everything a test knows of a server is here; the tests themselves speak of mail only.
"""

from __future__ import annotations

import ssl
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from mcp_proton.bridge.backend import BridgeBackend
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import All
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.limits import Timing
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol.pool import Habits
from mcp_proton.imap.submission.outlet import Outlet
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Credentials as JmapCredentials
from mcp_proton.jmap.protocol.endpoint import Endpoint as JmapEndpoint
from mcp_proton.jmap.watching import Habits as JmapHabits
from mcp_proton.simulator import GivenLabel, GivenMessage, Simulator
from mcp_proton.testing import MemoryAccount
from tests.servers import bridges
from tests.servers.jmap import JmapServer
from tests.servers.jmap.methods import Limits as JmapLimits
from tests.servers.jmap.server import PASSWORD, USER
from tests.servers.mail import Mail as ServerMail
from tests.servers.pymap import Pymap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.bridge.sync import Sightings
    from mcp_proton.domain.findings import KnownFindings
    from mcp_proton.domain.mail import Envelope, Identity, Mailbox
    from mcp_proton.domain.ports import MailBackend
    from mcp_proton.simulator.proton.account import Model
    from tests.servers.account import Account
    from tests.servers.bridges import AnyBridge, Door, SimulatedBridge
    from tests.servers.gluon_server import GluonServer

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Mail:
    """A message of a test: its octets, when it was received, and whether it is read or flagged."""

    raw: bytes
    received: datetime = DAY
    flags: frozenset[str] = frozenset()


class World(Protocol):
    """An account and its outside. `folder` is a mailbox of one's own beside INBOX, `label` a label, where there are any."""

    backend: MailBackend
    folder: str
    label: str | None
    copies: bool
    """whether one message can be in two mailboxes"""

    async def put(self, *mails: Mail) -> None:
        """Mail arrives in INBOX, in this order."""
        ...

    async def put_into_folder(self, mail: Mail) -> None:
        """Mail arrives in the folder."""
        ...

    async def rebuild_folder(self, mail: Mail) -> None:
        """The server builds the folder anew, with this one message in it: all UIDs in it are void."""
        ...

    async def empty_inbox(self) -> None:
        """Everything in INBOX is destroyed by somebody else."""
        ...

    async def settle(self) -> None:
        """What was changed is known everywhere."""
        ...


class Memory:
    """`MemoryAccount`."""

    folder = "Work"
    label: str | None = "Labels/Blue"
    copies = True

    def __init__(self) -> None:
        self.account = MemoryAccount("me")
        self.account.add_mailbox(self.folder)
        self.account.add_mailbox("Labels/Blue", Role.LABEL)
        self.backend: MailBackend = self.account

    async def put(self, *mails: Mail) -> None:
        for mail in mails:
            self.account.add("INBOX", mail.raw, received=mail.received, flags=mail.flags)

    async def put_into_folder(self, mail: Mail) -> None:
        self.account.add(self.folder, mail.raw, received=mail.received)

    async def rebuild_folder(self, mail: Mail) -> None:
        self.account.rebuild(self.folder)
        self.account.boxes[self.folder].mail.clear()
        self.account.boxes[self.folder].next_uid = 1
        await self.put_into_folder(mail)

    async def empty_inbox(self) -> None:
        self.account.boxes["INBOX"].mail.clear()

    async def settle(self) -> None:
        """Everything is known at once."""


class OnBridge:
    """`BridgeBackend` on a Bridge: the simulator, or Proton's engine."""

    folder = "Folders/Work"
    label: str | None = "Labels/Blue"
    copies = False

    def __init__(self, bridge: AnyBridge, backend: BridgeBackend) -> None:
        self.bridge = bridge
        self.backend: MailBackend = backend

    async def put(self, *mails: Mail) -> None:
        for mail in mails:
            self._deliver(mail, ("inbox",))
        self.bridge.events()

    def _deliver(self, mail: Mail, places: tuple[str, ...]) -> None:
        starred = ("starred",) if "flagged" in mail.flags else ()
        replied = ("replied",) if "answered" in mail.flags else ()
        self.bridge.deliver(
            mail.raw,
            places=(*places, *starred),
            flags=("received", *replied),
            unread="seen" not in mail.flags,
            time=mail.received.timestamp(),
            origin="imported",
        )

    async def put_into_folder(self, mail: Mail) -> None:
        self._deliver(mail, (self.folder,))
        self.bridge.events()

    async def rebuild_folder(self, mail: Mail) -> None:
        self.bridge.repair()

    async def empty_inbox(self) -> None:
        for key in self.bridge.state():
            self.bridge.elsewhere("delete", key)
        self.bridge.events()

    async def settle(self) -> None:
        self.bridge.events()


class Bridge(OnBridge):
    """The simulator, with all that can be done to it alone."""

    def __init__(self, bridge: SimulatedBridge, backend: BridgeBackend) -> None:
        super().__init__(bridge, backend)
        self.simulator = bridge.simulator


class Server:
    """`ImapBackend` on a real server."""

    folder = "Work"
    label: str | None = None
    copies = True

    def __init__(self, account: Account, backend: MailBackend) -> None:
        self.account = account
        self.backend = backend
        self.names_files = not isinstance(account.server, Pymap)
        with account.appender() as connection:
            connection.ensure_mailbox(self.folder)

    async def put(self, *mails: Mail) -> None:
        self._append("INBOX", mails)

    def _append(self, mailbox: str, mails: Sequence[Mail]) -> None:
        with self.account.appender() as connection:
            connection.append(mailbox, [_server_mail(mail) for mail in mails])

    async def put_into_folder(self, mail: Mail) -> None:
        self._append(self.folder, [mail])

    async def rebuild_folder(self, mail: Mail) -> None:
        with self.account.appender() as connection:
            for command in (b"DELETE", b"CREATE"):
                connection.command(command, b' "', self.folder.encode(), b'"')
        self._append(self.folder, [mail])

    async def empty_inbox(self) -> None:
        with self.account.appender() as connection:
            for command in (b"SELECT INBOX", b"STORE 1:* +FLAGS (\\Deleted)", b"EXPUNGE"):
                connection.command(command)

    async def settle(self) -> None:
        """Everything is known at once."""


def _server_mail(mail: Mail) -> ServerMail:
    raw = mail.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    words = {"seen": "\\Seen", "flagged": "\\Flagged", "answered": "\\Answered"}
    return ServerMail(raw, tuple(words[flag] for flag in sorted(mail.flags)), mail.received)


@asynccontextmanager
async def memory() -> AsyncIterator[World]:
    yield Memory()


SOON = Timing(poll=0.1)
FORGETFUL = Timing(poll=0.1, checked=1.0)
"""for pymap, which tells what changed while an IDLE began only with the next change: a look finds it"""
WATCHFUL = JmapHabits(poll=0.1, first=0.1)
"""asks a server that tells nothing, every tenth of a second"""
ATTENTIVE = Habits(quiet=0.0, fresh=0.0)
"""looks anew before everything, so that a test need not wait a minute for what it did from outside"""


def certificate_der() -> bytes:
    """The certificate all simulators and sinks show."""
    return ssl.PEM_cert_to_DER_cert(CERTIFICATE.pem)


def outlet_of(simulator: Simulator) -> Outlet:
    """Where the simulator takes mail."""

    async def secret() -> str:
        return simulator.password

    pin = Pin.of(ssl.PEM_cert_to_DER_cert(simulator.certificate_pem))
    endpoint = Endpoint(simulator.host, simulator.smtp_port, TlsMode.STARTTLS, pin)
    return Outlet(endpoint, Credentials(simulator.username, secret))


def bridge_backend(
    door: Door,
    *,
    password: str | None = None,
    guarded: bool = False,
    sessions: Habits | None = None,
    findings: KnownFindings | None = None,
    sightings: Sightings | None = None,
) -> BridgeBackend:
    """A backend that trusts this Bridge's certificate."""
    return BridgeBackend(
        "me",
        endpoint(door),
        _credentials(door, password),
        sessions=sessions or ATTENTIVE,
        guarded_trash=guarded,
        timing=SOON,
        findings=findings,
        sightings=sightings,
        outlet=outlet_of(door) if isinstance(door, Simulator) else None,
    )


def unknowing(door: Door) -> ImapBackend:
    """A backend for any IMAP server, on Bridge."""
    return ImapBackend("me", endpoint(door), _credentials(door), sessions=ATTENTIVE)


def endpoint(door: Door) -> Endpoint:
    """Where a Bridge is, and its certificate pinned if it shows one."""
    if door.certificate_pem is None:
        return Endpoint(door.host, door.imap_port, TlsMode.PLAIN, plain_to_this_machine=True)
    pin = Pin.of(ssl.PEM_cert_to_DER_cert(door.certificate_pem))
    return Endpoint(door.host, door.imap_port, TlsMode.STARTTLS, pin)


def _credentials(door: Door, password: str | None = None) -> Credentials:
    async def secret() -> str:
        return door.password if password is None else password

    return Credentials(door.username, secret)


def given(raw: bytes, number: int) -> GivenMessage:
    """Message n, created n minutes after the first one."""
    return GivenMessage(raw, time=(DAY + timedelta(minutes=number)).timestamp(), origin="imported")


CERTIFICATE = bridges.CERTIFICATE
LABELS = [GivenLabel.from_path(path) for path in ("Folders/Work", "Labels/Blue")]


@asynccontextmanager
async def bridge(
    messages: Sequence[GivenMessage] = (),
    *,
    first_sync: float | None = None,
    model: Model = "real",
    guarded: bool = False,
) -> AsyncIterator[Bridge]:
    """The simulator, its first sync over, or bringing so many messages a second."""
    async with (
        bridges.simulated(model, LABELS, messages, first_sync=first_sync) as made,
        aclosing(bridge_backend(made.door, guarded=guarded)) as backend,
    ):
        yield Bridge(made, backend)


@asynccontextmanager
async def engine(
    server: GluonServer, messages: Sequence[GivenMessage] = (), *, model: Model = "real"
) -> AsyncIterator[OnBridge]:
    """Proton's engine, its first sync over."""
    async with (
        bridges.on_engine(server, model, LABELS, messages) as made,
        aclosing(bridge_backend(made.door)) as backend,
    ):
        yield OnBridge(made, backend)


@asynccontextmanager
async def server(
    account: Account, *, outlet: Outlet | None = None, configured: Sequence[Identity] = ()
) -> AsyncIterator[World]:
    async def secret() -> str:
        return account.password

    place = Endpoint(account.host, account.imap_port, TlsMode.PLAIN, plain_to_this_machine=True)
    if account.imaps_port:
        place = Endpoint(account.host, account.imaps_port, TlsMode.IMPLICIT, Pin.read(account.certificate_sha256))
    login = Credentials(account.username, secret)
    timing = FORGETFUL if isinstance(account.server, Pymap) else SOON
    made = ImapBackend("me", place, login, sessions=ATTENTIVE, timing=timing, outlet=outlet, configured=configured)
    async with aclosing(made) as backend:
        yield Server(account, backend)


class Jmap(Server):
    """`JmapBackend` on a real server, which is filled by IMAP."""

    label: str | None = "Labels/Blue"

    def __init__(self, account: Account, backend: JmapBackend) -> None:
        super().__init__(account, backend)
        with account.appender() as connection:
            for mailbox in ("Labels", "Labels/Blue"):
                connection.ensure_mailbox(mailbox)


def jmap_backend(url: str, username: str, password: str, *, configured: Sequence[Identity] = ()) -> JmapBackend:
    """A backend that lists mailboxes anew before everything."""

    async def secret() -> str:
        return password

    credentials = JmapCredentials(username, secret)
    return JmapBackend(
        "me",
        JmapEndpoint(url),
        credentials,
        labels="Labels",
        listed_for=0.0,
        configured=configured,
        attention=WATCHFUL,
    )


@asynccontextmanager
async def jmap(account: Account, configured: Sequence[Identity] = ()) -> AsyncIterator[World]:
    """A JMAP server that keeps the mail of an IMAP account."""
    url = f"http://{account.host}:{account.jmap_port}"
    backend = jmap_backend(url, account.username, account.password, configured=configured)
    try:
        yield Jmap(account, backend)
    finally:
        await backend.aclose()


class ScriptedJmap:
    """`JmapBackend` on the scripted server."""

    folder = "Work"
    label: str | None = "Labels/Blue"
    copies = True

    def __init__(self, server: JmapServer, backend: JmapBackend) -> None:
        self.server = server
        self.backend: MailBackend = backend
        store = server.store
        store.folder(self.folder)
        store.folder("Blue", store.folder("Labels").id)

    async def put(self, *mails: Mail) -> None:
        for mail in mails:
            self._deliver(mail, self.server.store.by_role("inbox").id)

    def _deliver(self, mail: Mail, mailbox: str) -> None:
        keywords = frozenset(f"${flag}" for flag in mail.flags)
        self.server.store.add(mail.raw, mailbox, received=mail.received, keywords=keywords)

    async def put_into_folder(self, mail: Mail) -> None:
        self._deliver(mail, self.server.store.by_name(self.folder).id)

    async def rebuild_folder(self, mail: Mail) -> None:
        """Another mailbox of that name: a message of the same octets is the same one, what else was in it is gone."""
        store = self.server.store
        old = store.folders.pop(store.by_name(self.folder).id)
        new = store.folder(self.folder)
        raw = mail.raw.replace(b"\n", b"\r\n")
        for one in [one for one in store.emails.values() if old.id in one.mailboxes]:
            one.mailboxes.discard(old.id)
            if one.raw == raw:
                one.mailboxes.add(new.id)
            elif not one.mailboxes:
                del store.emails[one.id]
        if not any(new.id in one.mailboxes for one in store.emails.values()):
            await self.put_into_folder(mail)

    async def empty_inbox(self) -> None:
        self.server.store.emails.clear()
        self.server.store.touched()

    async def settle(self) -> None:
        """Everything is known at once."""


SMALL = JmapLimits(get=7, set=5, calls=4, requests=1, query=6)
"""limits that every request meets"""


@asynccontextmanager
async def scripted_jmap(limits: JmapLimits | None = None) -> AsyncIterator[ScriptedJmap]:
    """A server that refuses what is beyond its limits."""
    async with JmapServer(limits=limits) as server:
        backend = jmap_backend(server.url, USER, PASSWORD)
        try:
            yield ScriptedJmap(server, backend)
        finally:
            await backend.aclose()


async def box(world: World, role: Role = Role.INBOX) -> Mailbox:
    """The mailbox with a role."""
    return next(one for one in await world.backend.mailboxes() if one.role is role)


async def folder(world: World) -> Mailbox:
    """The mailbox of one's own."""
    return next(one for one in await world.backend.mailboxes() if one.path == world.folder)


async def newest(world: World, limit: int = 25) -> Sequence[Envelope]:
    """The newest messages of INBOX."""
    return (await world.backend.search([await box(world)], All(), Page(limit))).rows


async def all_pages(world: World, mailbox: Mailbox, limit: int, order: Order = Order.NEWEST) -> list[Envelope]:
    """Every row of a list, page by page."""
    rows: list[Envelope] = []
    page = Page(limit, order)
    for _ in range(1_000):
        found = await world.backend.search([mailbox], All(), page)
        rows += found.rows
        if found.continuation is None:
            return rows
        page = Page(limit, order, found.continuation)
    raise AssertionError("the list does not end")
