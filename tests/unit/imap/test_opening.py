"""Trust before words: TLS, the pinned certificate, and only then the login."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_proton.domain.errors import AuthFailed, Invalid, MailError, Unavailable, Unsupported, Untrusted
from mcp_proton.imap.errors import ConnectionLost, TimedOut
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol.opening import fetch_certificate, open_session
from mcp_proton.imap.protocol.session import Session
from tests.servers.certificate import Certificate, issue
from tests.unit.imap.scripted import (
    BRIDGE,
    CREDENTIALS,
    IDENTITY,
    OK,
    QUICK,
    Reply,
    ScriptedServer,
    Talk,
    server_context,
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return issue(tmp_path_factory.mktemp("tls"))


def starting_tls(context: ssl.SSLContext, extra: bytes = b"") -> Reply:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        talk.writer.write(tag + b" OK Begin TLS negotiation now\r\n" + extra)
        await talk.writer.drain()
        before = talk.writer.transport
        try:
            await talk.writer.start_tls(context)
        except AttributeError:  # the client left at once, and asyncio forgot that there was a transport
            talk.writer._transport = before

    return answer


@asynccontextmanager
async def tls_server(
    certificate: Certificate, mode: TlsMode, replies: dict[bytes, Reply] | None = None, extra: bytes = b""
) -> AsyncIterator[ScriptedServer]:
    context = server_context(certificate.chain, certificate.key)
    server = ScriptedServer({b"STARTTLS": starting_tls(context, extra), **(replies or {})}, capabilities=BRIDGE)
    server.tls, server.implicit_tls = context, mode is TlsMode.IMPLICIT
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def opened(endpoint: Endpoint, credentials: Credentials = CREDENTIALS) -> Session:
    return await open_session(endpoint, credentials, identity=IDENTITY, timing=QUICK)


@pytest.mark.parametrize("mode", [TlsMode.STARTTLS, TlsMode.IMPLICIT])
async def test_the_pinned_certificate_opens_a_session(certificate: Certificate, mode: TlsMode) -> None:
    async with tls_server(certificate, mode) as server:
        session = await opened(server.endpoint(mode, Pin.read(certificate.sha256)))
        assert session.can("MOVE")
        assert session.server_id == {"name": "scripted", "version": "1"}
        await session.noop()
        session.close()
    order = [command.split()[0] for command in server.received]
    assert order == [b"STARTTLS", b"CAPABILITY", b"LOGIN", b"ID", b"NOOP"][mode is TlsMode.IMPLICIT :] or order == [
        b"LOGIN",
        b"ID",
        b"NOOP",
    ]


@pytest.mark.parametrize("mode", [TlsMode.STARTTLS, TlsMode.IMPLICIT])
async def test_another_certificate_gets_no_word_of_ours(certificate: Certificate, mode: TlsMode) -> None:
    async with tls_server(certificate, mode) as server:
        with pytest.raises(Untrusted):
            await opened(server.endpoint(mode, Pin(bytes(32))))
        assert not server.commands(b"LOGIN")
        assert not server.commands(b"AUTHENTICATE")
        assert not server.commands(b"ID")


@pytest.mark.parametrize("mode", [TlsMode.STARTTLS, TlsMode.IMPLICIT])
async def test_without_a_pin_a_self_signed_certificate_is_refused(certificate: Certificate, mode: TlsMode) -> None:
    async with tls_server(certificate, mode) as server:
        with pytest.raises(Untrusted):
            await opened(server.endpoint(mode))
        assert not server.commands(b"LOGIN")


async def test_plain_text_after_the_agreement_on_tls_is_refused(certificate: Certificate) -> None:
    """Words put in before the encryption would be taken for the server's (CVE-2011-0411 and its kind)."""
    forged = b"* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n"
    async with tls_server(certificate, TlsMode.STARTTLS, extra=forged) as server:
        with pytest.raises(Untrusted):
            await opened(server.endpoint(TlsMode.STARTTLS, Pin.read(certificate.sha256)))
        assert not server.commands(b"LOGIN")


async def test_what_was_said_before_tls_is_forgotten(certificate: Certificate) -> None:
    async with tls_server(certificate, TlsMode.STARTTLS) as server:
        server.greeting = b"* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED X-FORGED] hi\r\n"
        session = await opened(server.endpoint(TlsMode.STARTTLS, Pin.read(certificate.sha256)))
        assert not session.can("X-FORGED")
        assert server.commands(b"CAPABILITY")
        session.close()


@pytest.mark.parametrize("refusal", [b"@TAG@ NO no TLS\r\n", b"@TAG@ BAD what\r\n"])
async def test_a_server_without_tls_is_not_logged_in_to(refusal: bytes) -> None:
    server = ScriptedServer({b"STARTTLS": refusal})
    await server.start()
    with pytest.raises(Untrusted):
        await opened(server.endpoint(TlsMode.STARTTLS, Pin(bytes(32))))
    assert not server.commands(b"LOGIN")
    await server.stop()


async def test_a_greeting_that_skips_the_login_cannot_skip_tls() -> None:
    server = ScriptedServer()
    server.greeting = b"* PREAUTH welcome back\r\n"
    await server.start()
    with pytest.raises(Untrusted):
        await opened(server.endpoint(TlsMode.STARTTLS, Pin(bytes(32))))
    await server.stop()


@pytest.mark.parametrize(("host", "asked"), [("127.0.0.1", False), ("mail.example.org", True), ("localhost", True)])
def test_mail_without_tls_needs_this_machine_and_an_explicit_wish(host: str, asked: bool) -> None:
    with pytest.raises(Invalid):
        Endpoint(host, 143, TlsMode.PLAIN, plain_to_this_machine=asked)


@pytest.mark.parametrize("mode", [TlsMode.STARTTLS, TlsMode.IMPLICIT])
async def test_set_up_sees_the_certificate_without_a_login(certificate: Certificate, mode: TlsMode) -> None:
    async with tls_server(certificate, mode) as server:
        shown = await fetch_certificate(server.endpoint(mode), QUICK)
        assert str(Pin.of(shown)) == f"sha256:{certificate.sha256}"
        assert not server.commands(b"LOGIN")


@pytest.mark.parametrize("spelling", ["sha256:{}", "{}", "SHA256:{}", "upper"])
def test_a_fingerprint_is_read_in_every_usual_spelling(spelling: str) -> None:
    digits = "0a" * 32
    colons = ":".join(digits[at : at + 2] for at in range(0, 64, 2)).upper()
    assert Pin.read(colons if spelling == "upper" else spelling.format(digits)).digest == bytes.fromhex(digits)


@pytest.mark.parametrize("text", ["", "sha256:", "sha1:" + "0a" * 20, "0a" * 31, "0g" * 32])
def test_anything_else_is_no_fingerprint(text: str) -> None:
    with pytest.raises(Invalid):
        Pin.read(text)


async def login_to(replies: dict[bytes, Reply], capabilities: bytes, password: str = "pass-word") -> ScriptedServer:
    async def secret() -> str:
        return password

    server = ScriptedServer(replies, capabilities=capabilities)
    await server.start()
    try:
        session = await opened(server.endpoint(), Credentials("me", secret))
        session.close()
    finally:
        await server.stop()
    return server


def authenticate(accepted: list[bytes]) -> Reply:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        if len(command.split()) < 3:
            await talk.say(b"+\r\n")
            command += b" " + await talk.reader.readline()
        accepted.append(command.split()[2])
        await talk.say(b"@TAG@ OK [CAPABILITY IMAP4rev1 UIDPLUS] in\r\n", tag)

    return answer


async def test_where_login_is_disabled_authenticate_is_used() -> None:
    seen: list[bytes] = []
    server = await login_to({b"AUTHENTICATE": authenticate(seen)}, b"IMAP4rev1 LOGINDISABLED AUTH=PLAIN")
    assert seen == [b"AG1lAHBhc3Mtd29yZA=="]
    assert not server.commands(b"LOGIN")


async def test_where_login_is_unknown_authenticate_is_tried_next() -> None:
    seen: list[bytes] = []
    await login_to(
        {b"LOGIN": b"@TAG@ BAD no such command\r\n", b"AUTHENTICATE": authenticate(seen)}, b"IMAP4rev1 AUTH=PLAIN"
    )
    assert len(seen) == 1


async def test_where_the_server_allows_it_authenticate_takes_one_round_trip() -> None:
    seen: list[bytes] = []
    server = await login_to({b"AUTHENTICATE": authenticate(seen)}, b"IMAP4rev1 LOGINDISABLED AUTH=PLAIN SASL-IR")
    assert server.commands(b"AUTHENTICATE") == [b"AUTHENTICATE PLAIN AG1lAHBhc3Mtd29yZA=="]


async def test_a_password_beyond_ascii_goes_by_authenticate_or_as_a_literal() -> None:
    seen: list[bytes] = []
    await login_to({b"AUTHENTICATE": authenticate(seen)}, b"IMAP4rev1 AUTH=PLAIN", "pä")
    assert seen == [b"AG1lAHDDpA=="]
    server = await login_to({}, b"IMAP4rev1", "pä")
    assert server.commands(b"LOGIN") == ['LOGIN "me" {3}\r\npä'.encode()]


async def test_where_nobody_can_log_in_we_say_so() -> None:
    with pytest.raises(Unsupported):
        await login_to({}, b"IMAP4rev1 LOGINDISABLED")


async def test_a_refused_login_is_said_once_and_without_the_servers_words() -> None:
    with pytest.raises(AuthFailed) as refusal:
        await login_to({b"LOGIN": b"@TAG@ NO no such user pass-word\r\n"}, b"IMAP4rev1 AUTH=PLAIN")
    assert "pass-word" not in str(refusal.value)
    assert not refusal.value.retry


async def test_a_login_that_is_impossible_for_now_may_be_tried_again() -> None:
    with pytest.raises(Unavailable) as refusal:
        await login_to({b"LOGIN": b"@TAG@ NO [UNAVAILABLE] later\r\n"}, b"IMAP4rev1")
    assert refusal.value.retry


async def test_capabilities_are_asked_for_again_after_the_login_if_it_did_not_tell() -> None:
    server = await login_to({b"LOGIN": OK}, b"IMAP4rev1")
    assert [command.split()[0] for command in server.received] == [b"LOGIN", b"CAPABILITY"]


async def test_the_password_is_asked_for_at_every_login_and_never_shown() -> None:
    assert "pass" not in repr(CREDENTIALS).lower().replace("password", "")


async def test_a_closed_port_is_unavailable() -> None:
    server = ScriptedServer()
    await server.start()
    endpoint = server.endpoint()
    await server.stop()
    with pytest.raises(ConnectionLost) as fault:
        await opened(endpoint)
    assert fault.value.code == "connection_refused"


async def test_a_server_that_says_goodbye_or_nothing_is_unavailable() -> None:
    server = ScriptedServer()
    server.greeting = b"* BYE too many connections\r\n"
    await server.start()
    with pytest.raises(ConnectionLost):
        await opened(server.endpoint())
    server.greeting = b"\r\n"
    with pytest.raises((TimedOut, ConnectionLost)):
        await opened(server.endpoint())
    await server.stop()


async def test_tls_towards_a_server_that_speaks_none_is_our_error() -> None:
    server = ScriptedServer()
    await server.start()
    with pytest.raises(MailError):
        await opened(server.endpoint(TlsMode.IMPLICIT, Pin(bytes(32))))
    await server.stop()


async def test_literals_go_unasked_only_after_the_server_offered_it(tmp_path: Path) -> None:
    for offered, expected in ((b"IMAP4rev1 LITERAL+", 0xFFFF_FFFF), (b"IMAP4rev1 LITERAL-", 4096), (b"IMAP4rev1", 0)):
        server = ScriptedServer(capabilities=offered)
        await server.start()
        session = await opened(server.endpoint())
        assert session.connection.unasked_literal == expected
        session.close()
        await server.stop()
    await asyncio.sleep(0)
