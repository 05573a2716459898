"""The accounts that send, and the world their mail goes to."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Identity
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.submission.outlet import Outlet
from tests.contract import worlds
from tests.contract.worlds import Memory, newest
from tests.servers.jmap.server import USER
from tests.servers.postfix import DOMAIN
from tests.servers.smtp_sink import SmtpSink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp_proton.domain.outgoing import Submits
    from tests.contract.worlds import World
    from tests.servers.account import Account
    from tests.servers.jmap.methods import Limits
    from tests.servers.postfix import Postfix


@dataclass
class Outside:
    """An account that sends as `sender` to `recipient`; `arrived` gives the subjects that got there, once all did."""

    world: World
    sender: str
    recipient: str
    arrived: Callable[[int], Awaitable[list[str]]]

    @property
    def submits(self) -> Submits:
        assert self.world.backend.submits is not None
        return self.world.backend.submits


@asynccontextmanager
async def memory() -> AsyncIterator[Outside]:
    async with worlds.memory() as world:
        assert isinstance(world, Memory)
        sent = world.account.outgoing.sent

        async def arrived(_: int) -> list[str]:
            return [one.raw.partition(b"Subject: ")[2].partition(b"\r\n")[0].decode() for one in sent]

        yield Outside(world, "me@example.org", "bob@example.net", arrived)


@asynccontextmanager
async def bridge() -> AsyncIterator[Outside]:
    async with worlds.bridge() as world:

        async def arrived(_: int) -> list[str]:
            return [one.subject for one in world.simulator.sent]

        yield Outside(world, "alice@proton.local", "bob@example.net", arrived)


@asynccontextmanager
async def through_postfix(mine: Account, other: Account, postfix: Postfix) -> AsyncIterator[Outside]:
    """Dovecot's account sends through Postfix to another account of it."""
    sender = Identity(f"{mine.username}@{DOMAIN}", "Me")
    outlet = Outlet(
        Endpoint("127.0.0.1", postfix.port, TlsMode.STARTTLS, Pin.read(postfix.certificate_sha256)),
        _login(mine),
        frozenset({sender.email}),
    )
    async with worlds.server(mine, outlet=outlet, configured=[sender]) as world, worlds.server(other) as there:

        async def arrived(count: int) -> list[str]:
            for _ in range(600):
                rows = await newest(there)
                if len(rows) >= count:
                    break
                await asyncio.sleep(0.05)
            return [row.subject for row in reversed(rows)]

        yield Outside(world, sender.email, f"{other.username}@{DOMAIN}", arrived)


@asynccontextmanager
async def into_a_sink(mine: Account) -> AsyncIterator[Outside]:
    """Any IMAP account beside a submission server that keeps what it gets."""
    async with SmtpSink(worlds.CERTIFICATE, username=mine.username, password=mine.password) as sink:
        pin = Pin.of(worlds.certificate_der())
        outlet = Outlet(Endpoint("127.0.0.1", sink.port, TlsMode.STARTTLS, pin), _login(mine))

        async def arrived(_: int) -> list[str]:
            return [one.text.partition(b"Subject: ")[2].partition(b"\r\n")[0].decode() for one in sink.stored]

        sender = Identity("me@example.org")
        async with worlds.server(mine, outlet=outlet, configured=[sender]) as world:
            yield Outside(world, sender.email, "bob@example.net", arrived)


@asynccontextmanager
async def scripted_jmap(limits: Limits | None = None) -> AsyncIterator[Outside]:
    async with worlds.scripted_jmap(limits) as world:
        sent = world.server.store.sent

        async def arrived(_: int) -> list[str]:
            return [raw.partition(b"Subject: ")[2].partition(b"\r\n")[0].decode() for _, _, raw in sent]

        yield Outside(world, USER, "bob@example.net", arrived)


def _login(account: Account) -> Credentials:
    async def password() -> str:
        return account.password

    return Credentials(account.username, password)
