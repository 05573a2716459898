"""The commands of an SMTP session, with the words Bridge's library answers them with (facts 11.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.incoming import Hangup
from mcp_proton.simulator.proton.api import ApiError
from mcp_proton.simulator.smtp import parameters
from mcp_proton.simulator.smtp.arriving import ChunkedText, DataText, LineTooLongError
from mcp_proton.simulator.smtp.outgoing import Courier
from mcp_proton.simulator.smtp.replies import BadCommandError, Reply, ReplyError, SendError
from mcp_proton.simulator.smtp.sasl import MECHANISMS, Exchange

if TYPE_CHECKING:
    from mcp_proton.simulator.smtp.outgoing import Text
    from mcp_proton.simulator.smtp.session import SmtpSession

Command = Callable[["SmtpSession", str], Awaitable[Reply]]

_EXTENSIONS = ("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "CHUNKING")
_NAME_LENGTH = 4
_LARGEST_CHUNK = 2**32
_INTRODUCE = "Please introduce yourself first."


def command_of(line: str) -> tuple[str, str]:
    """The name and the argument of a line; raises BadCommandError. Every name has four letters, but for STARTTLS."""
    if line.upper().startswith("STARTTLS"):
        return "STARTTLS", ""
    if not line:
        raise BadCommandError(500, "5.5.2", "Error: bad syntax")
    name, gap, argument = line[:_NAME_LENGTH].upper(), line[_NAME_LENGTH : _NAME_LENGTH + 1], line[_NAME_LENGTH + 1 :]
    if len(name) < _NAME_LENGTH or (gap and (gap != " " or not argument)):
        raise BadCommandError(501, "5.5.2", "Bad command")
    if name not in COMMANDS:
        raise BadCommandError(500, "5.5.2", f"Syntax errors, {name} command unrecognized")
    return name, argument.strip(" \r\n")


# -- greeting and login


async def _helo(session: SmtpSession, argument: str) -> Reply:
    _greet(session, argument)
    return Reply(250, "2.0.0", f"Hello {session.greeted_as}")


async def _ehlo(session: SmtpSession, argument: str) -> Reply:
    _greet(session, argument)
    mechanisms = " ".join(session.simulator.any_order(MECHANISMS, len(MECHANISMS)))
    words = [
        f"Hello {session.greeted_as}",
        *_EXTENSIONS,
        *([] if session.is_tls else ["STARTTLS"]),
        f"AUTH {mechanisms}",
    ]
    session.send("".join(f"250-{word}\r\n" for word in words).encode("utf-8", "surrogateescape"))
    return Reply(250, "", "SIZE")


def _greet(session: SmtpSession, argument: str) -> None:
    name = argument.partition(" ")[0]
    if not name:
        raise ReplyError(501, "5.5.2", "Domain/address argument required for HELO")
    session.greeted_as = name
    if session.simulator.settings.ehlo_signs_out:
        session.user = None


async def _lhlo(_session: SmtpSession, _argument: str) -> Reply:
    return Reply(500, "5.5.1", "This is not a LMTP server")


async def _starttls(session: SmtpSession, _argument: str) -> Reply:
    if session.is_tls:
        return Reply(502, "5.5.1", "Already running in TLS")
    return Reply(220, "2.0.0", "Ready to start TLS")


async def _auth(session: SmtpSession, argument: str) -> Reply:
    words = argument.split()
    if not session.greeted_as:
        raise ReplyError(502, "5.5.1", _INTRODUCE)
    if session.has_authenticated:
        raise ReplyError(503, "5.5.1", "Already authenticated")
    if not words:
        raise ReplyError(502, "5.5.4", "Missing parameter")
    mechanism = words[0].upper()
    if mechanism not in MECHANISMS:
        raise ReplyError(504, "5.7.4", "Unsupported authentication mechanism")
    name, password = await Exchange(session.ask, words[1] if len(words) > 1 else None).credentials(mechanism)
    session.user = await session.simulator.smtp_login(name, password)
    if session.user is None:
        raise ReplyError(454, "4.7.0", "invalid username or password")
    session.login = name
    session.has_authenticated = True
    return Reply(235, "2.0.0", "Authentication succeeded")


# -- the envelope


async def _mail(session: SmtpSession, argument: str) -> Reply:
    if not session.greeted_as:
        raise ReplyError(502, "2.5.1", _INTRODUCE)
    _forbid_during_chunks(session, "MAIL")
    sender = parameters.sender(argument)
    session.envelope.sender = sender
    return Reply(250, "2.0.0", f"Roger, accepting mail from <{sender}>")


async def _rcpt(session: SmtpSession, argument: str) -> Reply:
    if session.envelope.sender is None:
        raise ReplyError(502, "5.5.1", "Missing MAIL FROM command.")
    _forbid_during_chunks(session, "RCPT")
    recipient = parameters.recipient(argument)
    session.envelope.recipients.append(recipient)
    return Reply(250, "2.0.0", f"I'll make sure <{recipient}> gets this")


async def _rset(session: SmtpSession, _argument: str) -> Reply:
    session.reset()
    return Reply(250, "2.0.0", "Session reset")


def _check_envelope(session: SmtpSession) -> None:
    if session.envelope.sender is None or not session.envelope.recipients:
        raise ReplyError(502, "5.5.1", "Missing RCPT TO command.")


def _forbid_during_chunks(session: SmtpSession, name: str) -> None:
    if session.chunks is not None:
        raise ReplyError(502, "5.5.1", f"{name} not allowed during message transfer")


# -- the text


async def _data(session: SmtpSession, argument: str) -> Reply:
    if argument:
        raise ReplyError(501, "5.5.4", "DATA command should not have any arguments")
    _forbid_during_chunks(session, "DATA")
    _check_envelope(session)
    session.send(bytes(Reply(354, "2.0.0", "Go ahead. End your data with <CR><LF>.<CR><LF>")))
    text = DataText(session.incoming, bare_dot_ends=session.simulator.settings.bare_dot_ends_data)
    try:
        reply = await _taken(session, text)
        await text.drain()
    except LineTooLongError:
        # The reply goes out; the next line read finds out again.
        pass
    finally:
        session.reset()
    return reply


async def _bdat(session: SmtpSession, argument: str) -> Reply:
    words = argument.split()
    if not words:
        raise ReplyError(501, "5.5.4", "Missing chunk size argument")
    if len(words) > 2:
        raise ReplyError(501, "5.5.4", "Too many arguments")
    _check_envelope(session)
    if len(words) == 2 and words[1].upper() != "LAST":
        raise ReplyError(501, "5.5.4", "Unknown BDAT argument")
    if not (words[0].isascii() and words[0].isdecimal() and int(words[0]) < _LARGEST_CHUNK):
        raise ReplyError(501, "5.5.4", "Malformed size argument")
    session.chunks = session.chunks or ChunkedText()
    session.chunks.give(await session.incoming.exactly(int(words[0])))
    if len(words) == 1:
        return Reply(250, "2.0.0", "Continue")
    try:
        return await _taken(session, session.chunks)
    finally:
        session.reset()


async def _taken(session: SmtpSession, text: Text) -> Reply:
    """Have the mail carried; the reply says how it went."""
    simulator = session.simulator
    courier = Courier(simulator, session.user, session.login, session.fault)
    try:
        await courier.take(session.envelope, text)
    except SendError as error:
        if error.closes_smtp and simulator.settings.refused_recipient_closes_smtp:
            session.send(bytes(error.reply))
            simulator.restart_smtp()
            raise Hangup from None
        return error.reply
    except ReplyError as error:
        return error.reply
    except ApiError as error:
        if simulator.settings.lost_network_closes_smtp:
            simulator.restart_smtp()
            raise Hangup from None
        return SendError(f"failed to send message: {error}").reply
    await session.fault("after acceptance")
    return Reply(250, "2.0.0", "OK: queued")


# -- the rest


async def _vrfy(_session: SmtpSession, _argument: str) -> Reply:
    return Reply(252, "2.5.0", "Cannot VRFY user, but will accept message")


async def _noop(_session: SmtpSession, _argument: str) -> Reply:
    return Reply(250, "2.0.0", "I have sucessfully done nothing")


async def _quit(_session: SmtpSession, _argument: str) -> Reply:
    return Reply(221, "2.0.0", "Bye")


def _missing(name: str) -> Command:
    async def answer(_session: SmtpSession, _argument: str) -> Reply:
        return Reply(502, "5.5.1", f"{name} command not implemented")

    return answer


COMMANDS: dict[str, Command] = {
    "HELO": _helo, "EHLO": _ehlo, "LHLO": _lhlo, "STARTTLS": _starttls, "AUTH": _auth, "MAIL": _mail, "RCPT": _rcpt,
    "RSET": _rset, "DATA": _data, "BDAT": _bdat, "VRFY": _vrfy, "NOOP": _noop, "QUIT": _quit,
    **{name: _missing(name) for name in ("SEND", "SOML", "SAML", "EXPN", "HELP", "TURN")},
}  # fmt: skip
