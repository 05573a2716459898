"""Accounts on the scripted server, for the tests of `jmap/`."""

from __future__ import annotations

import base64
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.login.access_tokens import AccessTokens, Issued, printed
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Auth, Credentials, Endpoint
from tests.contract.letters import letter
from tests.servers.jmap import JmapServer
from tests.servers.jmap.server import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Mailbox
    from tests.servers.jmap.methods import Limits


def jwt(exp: float) -> str:
    """A token that says when it ends."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": exp}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


def connected(
    url: str,
    *,
    also: tuple[str, ...] = (),
    secret: str = PASSWORD,
    auth: Auth = Auth.BASIC,
    listed_for: float = 60.0,
) -> JmapBackend:
    """A backend as it is in service: its list of mailboxes is kept."""

    async def give() -> str:
        return secret

    async def issued() -> Issued:
        return printed(secret, time.time())

    login = Credentials(USER, give, auth, tokens=AccessTokens(issued) if auth is Auth.BEARER else None)
    return JmapBackend("me", Endpoint(url, also), login, labels="Labels", listed_for=listed_for)


@asynccontextmanager
async def account(
    limits: Limits | None = None, *, ranges: bool = True
) -> AsyncIterator[tuple[JmapServer, JmapBackend]]:
    """A server and a backend on it."""
    async with JmapServer(limits=limits, ranges=ranges) as server:
        server.store.folder("Work")
        server.store.folder("Blue", server.store.folder("Labels").id)
        backend = connected(server.url)
        try:
            yield server, backend
        finally:
            await backend.aclose()


@asynccontextmanager
async def warm(
    limits: Limits | None = None, *, listed_for: float = 60.0
) -> AsyncIterator[tuple[JmapServer, JmapBackend]]:
    """The same, once session, mailboxes and identities are known; what is asked is counted from there."""
    async with account(limits) as (server, _):
        backend = connected(server.url, listed_for=listed_for)
        await backend.mailboxes()
        await backend.identities()
        server.asked.clear()
        server.called.clear()
        try:
            yield server, backend
        finally:
            await backend.aclose()


def arrive(server: JmapServer, count: int, role: str = "inbox") -> None:
    """Letters `number 0` and so on, all received in one second."""
    for number in range(count):
        server.store.add(letter(f"number {number}", number=number), server.store.by_role(role).id)


async def box(backend: JmapBackend, role: Role = Role.INBOX) -> Mailbox:
    return next(one for one in await backend.mailboxes() if one.role is role)


async def named(backend: JmapBackend, path: str) -> Mailbox:
    return next(one for one in await backend.mailboxes() if one.path == path)


async def rows(backend: JmapBackend, role: Role = Role.INBOX, limit: int = 1_000) -> Sequence[Envelope]:
    return (await backend.search([await box(backend, role)], All(), Page(limit))).rows


async def handles(backend: JmapBackend, role: Role = Role.INBOX) -> list[Handle]:
    return [row.handle for row in await rows(backend, role)]
