"""From an endpoint to a logged-in session: greeting, TLS, trust, capabilities, login, ID.

INVARIANT: nothing but STARTTLS is sent before the certificate is trusted, and what was said in plain text is forgotten
afterwards (RFC 9051 §6.2.1). Capabilities are read again after TLS and after login.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed, Unavailable, Unsupported, Untrusted
from mcp_proton.imap.errors import ConnectionLost, Rejected, RejectedForNow, border
from mcp_proton.imap.limits import Limits, Timing
from mcp_proton.imap.login import bearer, tls
from mcp_proton.imap.login.endpoint import TlsMode, is_loopback
from mcp_proton.imap.protocol import commands, compression
from mcp_proton.imap.protocol.session import Session
from mcp_proton.imap.protocol.uids import LARGEST
from mcp_proton.imap.protocol.writer import SMALL_LITERAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.imap.login.access_tokens import AccessTokens
    from mcp_proton.imap.login.bearer import Challenge
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint


async def open_session(
    endpoint: Endpoint,
    credentials: Credentials,
    *,
    identity: Mapping[str, str],
    limits: Limits | None = None,
    timing: Timing | None = None,
    packed: bool | None = None,
) -> Session:
    """A logged-in session, nothing selected. `identity` is what ID tells the server (name, version). `packed`: with
    COMPRESS, where the server has it; None: unless it is on this machine, where packing costs more than it spares.

    Raises AuthFailed (the login was refused), Untrusted (certificate, or no TLS where it must be), ConnectionLost,
    TimedOut, ProtocolViolation. Whatever is raised, no connection is left behind.
    """
    session = Session(limits or Limits(), timing or Timing())
    try:
        preauthenticated = await _connect(session, endpoint)
        if endpoint.tls is TlsMode.STARTTLS:
            await _start_tls(session, endpoint, preauthenticated=preauthenticated)
        if session.capabilities is None:
            session.capabilities = await session.run(commands.Capability())
        if not preauthenticated:
            await _log_in(session, endpoint, credentials)
        await _introduce(session, identity)
        if session.can(compression.WORD) and (packed or (packed is None and not is_loopback(endpoint.host))):
            await _pack(session)
    except BaseException:
        session.close()
        raise
    return session


async def fetch_certificate(endpoint: Endpoint, timing: Timing | None = None) -> bytes:
    """The certificate (DER) the server shows, trusted or not, for the owner to look at. No credentials are sent.

    `Pin.of` gives its fingerprint. Raises ConnectionLost, TimedOut or ProtocolViolation; Untrusted without TLS.
    """
    session = Session(Limits(), timing or Timing())
    try:
        await _connect(session, endpoint, trust=False)
        if endpoint.tls is TlsMode.STARTTLS:
            await session.run(commands.StartTls())
            await session.connection.upgrade(_any_certificate(), endpoint.host)
        if session.connection.wire.transport is None:
            raise ConnectionLost("the connection ended before a certificate was shown")
        return tls.presented(session.connection.wire.transport)
    finally:
        session.close()


async def _connect(session: Session, endpoint: Endpoint, *, trust: bool = True) -> bool:
    """Connects and waits for the greeting; True if the server takes us as logged in already."""
    connection = session.connection
    loop = asyncio.get_running_loop()
    context: ssl.SSLContext | None = None
    if endpoint.tls is TlsMode.IMPLICIT:
        context = tls.client_context(endpoint.pin) if trust else _any_certificate()
    with border(f"connecting to `{endpoint}`"):
        async with asyncio.timeout(connection.timing.connect):
            await loop.create_connection(lambda: connection.wire, endpoint.host, endpoint.port, ssl=context)
    if context is not None and trust:
        _check(session, endpoint)
    with border("waiting for the greeting"):
        async with asyncio.timeout(connection.timing.greeting):
            greeting = await connection.greeting
    session.greeting = greeting.text
    if greeting.kind == "BYE":
        raise ConnectionLost("the mail server takes no connections at the moment")
    if greeting.code is not None and isinstance(greeting.code.value, frozenset) and greeting.code.name == "CAPABILITY":
        session.capabilities = greeting.code.value
    return greeting.kind == "PREAUTH"


async def _start_tls(session: Session, endpoint: Endpoint, *, preauthenticated: bool) -> None:
    if preauthenticated:
        raise Untrusted("the mail server wants no login before TLS, so TLS could not begin")
    try:
        await session.run(commands.StartTls())
    except Rejected as refusal:
        raise Untrusted("the mail server offers no TLS on this port") from refusal
    await session.connection.upgrade(tls.client_context(endpoint.pin), endpoint.host)
    _check(session, endpoint)
    session.capabilities = None
    session.alerts.clear()


def _check(session: Session, endpoint: Endpoint) -> None:
    transport = session.connection.wire.transport
    if transport is None:
        raise ConnectionLost("the connection ended while TLS began")
    if endpoint.pin is not None:
        tls.check_pin(transport, endpoint.pin)


def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _log_in(session: Session, endpoint: Endpoint, credentials: Credentials) -> None:
    if credentials.tokens is not None:
        await _show_token(session, endpoint, credentials.username, credentials.tokens)
        return
    username, password = credentials.username, await credentials.password()
    before, session.capabilities = session.capabilities or frozenset(), None
    try:
        await _authenticate(session, before, username, password)
    except RejectedForNow as refusal:
        raise Unavailable("the mail server lets nobody log in at the moment", code="login_unavailable") from refusal
    except Rejected as refusal:
        raise AuthFailed("the mail server refused the login") from refusal


async def _authenticate(session: Session, capabilities: frozenset[str], username: str, password: str) -> None:
    """LOGIN where it is allowed and can carry the words; else AUTHENTICATE PLAIN. A NO is final, a BAD isn't."""
    plain = "AUTH=PLAIN" in capabilities
    by_sasl = commands.AuthenticatePlain(username, password, at_once="SASL-IR" in capabilities)
    if "LOGINDISABLED" in capabilities:
        if not plain:
            raise Unsupported("the mail server offers no way to log in with a password")
        await session.run(by_sasl)
        return
    if plain and not (username.isascii() and password.isascii()):
        await session.run(by_sasl)
        return
    try:
        await session.run(commands.Login(username, password))
    except Rejected as refusal:
        if refusal.answer != "BAD" or not plain:
            raise
        await session.run(by_sasl)


async def _show_token(session: Session, endpoint: Endpoint, username: str, tokens: AccessTokens) -> None:
    """AUTHENTICATE with an access token instead of a password."""
    offered, session.capabilities = session.capabilities or frozenset(), None
    mechanism = bearer.choose({word.removeprefix("AUTH=") for word in offered if word.startswith("AUTH=")})
    if mechanism is None:
        raise Unsupported("the mail server takes no access tokens", next="ask the owner to log in with a password")

    async def show(token: str) -> Challenge | None:
        first = mechanism.first(username, token, endpoint)
        ask = commands.AuthenticateBearer(mechanism, first, at_once="SASL-IR" in offered)
        try:
            await session.run(ask)
        except RejectedForNow:
            raise
        except Rejected:
            return ask.challenge
        return None

    try:
        refused = await bearer.shown(tokens, show)
    except RejectedForNow as refusal:
        raise Unavailable("the mail server lets nobody log in at the moment", code="login_unavailable") from refusal
    if refused is not None:
        raise refused.refusal()


async def _introduce(session: Session, identity: Mapping[str, str]) -> None:
    if session.capabilities is None:
        session.capabilities = await session.run(commands.Capability())
    unasked = LARGEST if session.can("LITERAL+") else SMALL_LITERAL if session.can("LITERAL-") else 0
    session.connection.unasked_literal = unasked
    if session.can("ID"):
        try:
            session.server_id = await session.run(commands.Identify(identity))
        except Rejected:
            session.server_id = {}


async def _pack(session: Session) -> None:
    try:
        await session.run(commands.Compress())
    except Rejected:
        return
    session.connection.pack()
