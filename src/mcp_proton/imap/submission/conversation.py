"""One conversation by SMTP (RFC 5321, 6409): greeting, TLS, trust, login, envelope, text. One mail, then it is closed.

INVARIANT: nothing but EHLO and STARTTLS is said before the certificate is trusted. EHLO is never said again after the
login: Bridge signs out without a word.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING

from aiosmtplib.esmtp import parse_esmtp_extensions

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import Defect, MailError, Unavailable, Unsupported, Untrusted
from mcp_proton.domain.exchanges import Exchange
from mcp_proton.imap.errors import ConnectionLost, ProtocolViolation, smtp_border
from mcp_proton.imap.login import bearer, tls
from mcp_proton.imap.login.bearer import Challenge
from mcp_proton.imap.login.endpoint import TlsMode
from mcp_proton.imap.submission.smtp_wire import Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence

    from aiosmtplib import SMTPResponse

    from mcp_proton.imap.limits import SubmissionTiming
    from mcp_proton.imap.login.endpoint import Endpoint

_COMMANDS = frozenset({b"EHLO", b"AUTH", b"MAIL", b"RCPT", b"DATA", b"DATA END", b"QUIT"})
READY, GO_ON, TEXT_NEXT, LOGGED_IN = 220, 334, 354, 235


def is_good(reply: SMTPResponse) -> bool:
    """Whether the server did what it was asked."""
    return 200 <= reply.code < 300


class Conversation:
    """Made by `begin`. Raises `Unavailable` and its kinds for what is no reply; a refusal is a reply like any other."""

    def __init__(self, wire: Wire, endpoint: Endpoint, timing: SubmissionTiming) -> None:
        self._wire, self._endpoint, self._timing = wire, endpoint, timing
        self.extensions: Mapping[str, str] = {}
        self.logins: Sequence[str] = ()
        self._answer: asyncio.Future[SMTPResponse] | None = None
        self._last = b""

    @classmethod
    async def begin(cls, endpoint: Endpoint, timing: SubmissionTiming) -> Conversation:
        """Connect up to where a login may be tried. Raises `Untrusted`, or another `Unavailable`; nothing stays open."""
        wire = await _connected(endpoint, timing)
        talk = cls(wire, endpoint, timing)
        try:
            await talk._introduce()
        except BaseException:
            talk.abort()
            raise
        return talk

    @property
    def largest(self) -> int | None:
        """The size the server says it takes (RFC 1870); None where it names none."""
        told = self.extensions.get("size", "")
        return int(told) if told.isdigit() and 0 < len(told) < 19 and int(told) else None

    def offers(self, extension: str) -> bool:
        """Whether EHLO named it; lower case."""
        return extension in self.extensions

    async def log_in(self, username: str, password: str) -> SMTPResponse:
        """AUTH PLAIN, else LOGIN (RFC 4954, 4616). `Unsupported` where the server offers neither."""
        if "plain" in self.logins:
            answer = b64encode(f"\0{username}\0{password}".encode())
            return await self._ask("logging in", b"AUTH", b"PLAIN", answer)
        if "login" not in self.logins:
            raise Unsupported("the mail server offers no way to log in with a password for sending")
        reply = await self._ask("logging in", b"AUTH", b"LOGIN")
        for word in (username, password):
            if reply.code == GO_ON:
                reply = await self._ask("logging in", b64encode(word.encode()))
        return reply

    async def show_token(self, username: str, token: str) -> tuple[SMTPResponse, Challenge]:
        """AUTH with an access token, and what the server has against it. `Unsupported` where it takes none."""
        mechanism = bearer.choose({one.upper() for one in self.logins})
        if mechanism is None:
            raise Unsupported("the mail server takes no access tokens for sending")
        first = mechanism.first(username, token, self._endpoint)
        reply = await self._ask("logging in", b"AUTH", mechanism.value.encode(), first)
        if reply.code != GO_ON:
            return reply, Challenge()
        challenge = Challenge.read(reply.message.encode())
        return await self._ask("logging in", mechanism.after_challenge), challenge

    async def sender(self, address: str, parameters: Sequence[str]) -> SMTPResponse:
        """MAIL FROM. The address was checked by the caller (`mail_paths`)."""
        words = [b"MAIL", f"FROM:<{address}>".encode(), *(one.encode() for one in parameters)]
        return await self._ask("naming the sender", *words)

    async def recipient(self, address: str) -> SMTPResponse:
        """RCPT TO."""
        return await self._ask("naming a recipient", b"RCPT", f"TO:<{address}>".encode())

    async def text_next(self) -> SMTPResponse:
        """DATA; 354 is the go-ahead."""
        return await self._ask("announcing the message", b"DATA")

    async def text(self, chunks: AsyncIterator[bytes]) -> SMTPResponse | None:
        """Send the text up to its last piece, which goes with its end. A reply that comes before that is returned."""
        early = asyncio.ensure_future(self._wire.answer())
        self._answer = early
        with smtp_border("handing the message over"):
            async for chunk in chunks:
                if early.done():
                    return early.result()
                if self._last:
                    await self._wire.push(self._last, self._timing.block)
                self._last = chunk
            return early.result() if early.done() else None

    async def end(self, mark: bytes) -> SMTPResponse:
        """The end of the text, and the reply that says whether the server took it."""
        if self._answer is None:
            raise Defect("the end of a text that was not begun")
        with smtp_border("waiting whether the message was taken"):
            self._wire.write(self._last + mark)
            async with asyncio.timeout(self._timing.end):
                return await _told(b"DATA END", self._answer)

    async def goodbye(self) -> None:
        """QUIT, briefly; then the connection is closed whatever was said."""
        try:
            with suppress(MailError, TimeoutError):
                async with asyncio.timeout(self._timing.goodbye):
                    await self._ask("saying goodbye", b"QUIT")
        finally:
            self.abort()

    def leave(self) -> None:
        """Say QUIT and close, without waiting: there is nothing more to be heard."""
        with suppress(OSError):
            self._wire.write(b"QUIT\r\n")
        self._wire.close()

    def abort(self) -> None:
        """Close at once."""
        if self._answer is not None and not self._answer.cancel() and not self._answer.cancelled():
            self._answer.exception()  # nobody may have asked
        self._wire.abort()

    async def _introduce(self) -> None:
        with smtp_border("waiting for the greeting"):
            greeting = await self._wire.greeting(self._timing.reply)
        if greeting.code != READY:
            raise Unavailable("the mail server takes no mail at the moment")
        await self._hello()
        if self._endpoint.tls is TlsMode.STARTTLS:
            await self._start_tls()
            await self._hello()

    async def _hello(self) -> None:
        reply = await self._ask("introducing ourselves", b"EHLO", _own_name(self._wire))
        if not is_good(reply):
            raise ProtocolViolation("the mail server does not speak ESMTP")
        self.extensions, self.logins = parse_esmtp_extensions(reply.message)

    async def _start_tls(self) -> None:
        if not self.offers("starttls"):
            raise Untrusted("the mail server offers no TLS for sending")
        with smtp_border("agreeing on TLS"):
            context = tls.client_context(self._endpoint.pin)
            await self._wire.begin_tls(context, self._endpoint.host, self._timing.reply)
        _trust(self._wire, self._endpoint)

    async def _ask(self, doing: str, *words: bytes) -> SMTPResponse:
        with smtp_border(doing):
            return await _told(words[0], self._wire.ask(*words, patience=self._timing.reply))


async def _told(command: bytes, answer: Awaitable[SMTPResponse]) -> SMTPResponse:
    """Wait for an answer, and tell whoever watches how long that took. What is no command of ours is a word of a login."""
    if not exchanges.heard():
        return await answer
    name = command.decode() if command in _COMMANDS else "AUTH"
    began, end = time.perf_counter(), "lost"
    try:
        reply = await answer
        end = "ok" if reply.code < 400 else "refused"
    except asyncio.CancelledError:
        end = "left"
        raise
    finally:
        exchanges.tell(Exchange("smtp", name, time.perf_counter() - began, end))
    return reply


async def _connected(endpoint: Endpoint, timing: SubmissionTiming) -> Wire:
    context = tls.client_context(endpoint.pin) if endpoint.tls is TlsMode.IMPLICIT else None
    with smtp_border(f"connecting to `{endpoint}`"):
        async with asyncio.timeout(timing.connect):
            _, wire = await asyncio.get_running_loop().create_connection(
                Wire, endpoint.host, endpoint.port, ssl=context
            )
    if context is not None:
        try:
            _trust(wire, endpoint)
        except MailError:
            wire.abort()
            raise
    return wire


def _trust(wire: Wire, endpoint: Endpoint) -> None:
    if not isinstance(wire.transport, asyncio.Transport):
        raise ConnectionLost("the connection ended while TLS began")
    if endpoint.pin is not None:
        tls.check_pin(wire.transport, endpoint.pin)


def _own_name(wire: Wire) -> bytes:
    """An address literal (RFC 5321 §4.1.3): this machine's name is nobody's business."""
    name = wire.transport.get_extra_info("sockname") if wire.transport is not None else None
    host = str(name[0]).partition("%")[0] if isinstance(name, tuple) else "127.0.0.1"
    return f"[IPv6:{host}]".encode() if ":" in host else f"[{host}]".encode()
