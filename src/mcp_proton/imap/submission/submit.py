"""Handing one mail over by SMTP, once: a connection a mail, a fate per recipient, and never a guess about the end.

Up to the final dot nothing has left, whatever happens (RFC 5321 §4.1.1.4: a server acts on a whole mail only). From the
final dot on, only a reply tells; a lost connection, a silence, an answer that is none, and our own giving up are UNKNOWN.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed, Invalid, MailError, Unavailable, Unsupported
from mcp_proton.domain.outgoing import Accepted, Delivery, Submission
from mcp_proton.domain.role_addresses import is_role_address
from mcp_proton.imap.errors import printable
from mcp_proton.imap.login import bearer
from mcp_proton.imap.submission import conversation as smtp
from mcp_proton.imap.submission import mail_paths, wire_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiosmtplib import SMTPResponse

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.login.access_tokens import AccessTokens
    from mcp_proton.imap.login.bearer import Challenge
    from mcp_proton.imap.submission.conversation import Conversation
    from mcp_proton.imap.submission.outlet import Outlet
    from mcp_proton.imap.submission.wire_text import Needs

_LATER = "the mail server lets nobody log in for sending at the moment"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One mail on its way: the envelope, the text, what it needs, and (where a server compares) its key."""

    sender: str
    recipients: tuple[str, ...]
    mail: Octets
    needs: Needs
    key: str = ""


class Submitting:
    """Hands mails over, one at a time. `largest` is the limit the server named last; None before, and where it names none."""

    all_or_none = False
    """whether a mail goes to all of its recipients or to none"""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._turn = asyncio.Lock()
        self._asked = False
        self.largest: int | None = None

    async def limit(self) -> int | None:
        """The size of a mail the server takes, asked once. Raises `Unavailable`."""
        if not self._asked:
            talk = await self._begin()
            await talk.goodbye()
        return self.largest

    async def check_login(self) -> None:
        """Log in as for sending, and send nothing. Raises `AuthFailed`, `Untrusted` or another `Unavailable`."""
        async with self._turn:
            talk = await self._begin()
            try:
                await self._log_in(talk, self._outlet.credentials.username)
            finally:
                await talk.goodbye()

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """See `Submits.submit`. Cancelled before the final dot: `CancelledError`, and surely nothing was sent; cancelled
        after it: UNKNOWN is returned."""
        try:
            parcel = await self._checked(sender, tuple(recipients), mail)
        except Invalid as error:
            return not_sent(error.code, error.message)
        async with self._turn:
            talk = await self._begin()
            try:
                told = await self._converse(talk, parcel)
            except BaseException:
                talk.abort()
                raise
            # INVARIANT: nothing is waited for any more, so that no cancelling can hide what is known.
            if told.delivery is Delivery.ACCEPTED:
                talk.leave()
            else:
                talk.abort()
            return told

    # --- what a kind of server changes ------------------------------------------------------------------------------

    async def _checked(self, sender: str, recipients: tuple[str, ...], mail: Octets) -> Parcel:
        """Read a mail through. Raises `Invalid` for one that is not sent, before anybody is asked."""
        mail_paths.check(sender)
        if is_role_address(sender) and sender.lower() not in self._outlet.senders:
            raise Invalid("the sender is an address of an office that the owner has not configured", code="role_sender")
        if not recipients:
            raise Invalid("there is no recipient", code="no_recipients")
        for recipient in recipients:
            mail_paths.check(recipient)
        return Parcel(sender, recipients, mail, await wire_text.needs(mail))

    async def _log_in_for(self, talk: Conversation, sender: str) -> Submission | None:
        """Log in. A `Submission` where this sender could not send."""
        await self._log_in(talk, self._outlet.credentials.username)
        return None

    def _is_wrong_login(self, reply: SMTPResponse) -> bool:
        """Whether a refused login is final: 4yz says that it will pass (RFC 5321 §4.2.1)."""
        return reply.code >= 500

    def _goes(self, parcel: Parcel) -> None:
        """The server is ready for its text."""

    def _judged(self, parcel: Parcel, reply: SMTPResponse, told: tuple[Accepted, ...]) -> Submission:
        """What a reply to the whole text means. RFC 5321 §4.2.5: only 250 takes the responsibility."""
        if reply.code == 250:
            return Submission(Delivery.ACCEPTED, told)
        if 400 <= reply.code < 600:
            return not_sent("refused_by_server", "the mail server did not take the message", reply, told)
        return unknown("what the mail server answered is no answer", told)

    # --- the conversation -------------------------------------------------------------------------------------------

    async def _begin(self) -> Conversation:
        talk = await smtp.Conversation.begin(self._outlet.endpoint, self._outlet.timing)
        self.largest, self._asked = talk.largest, True
        return talk

    async def _log_in(self, talk: Conversation, username: str) -> None:
        tokens = self._outlet.credentials.tokens
        if tokens is not None:
            await self._show_token(talk, username, tokens)
            return
        reply = await talk.log_in(username, await self._outlet.credentials.password())
        if reply.code == smtp.LOGGED_IN:
            return
        if self._is_wrong_login(reply):
            raise AuthFailed("the mail server refused the login for sending")
        raise Unavailable(_LATER, code="login_unavailable")

    async def _show_token(self, talk: Conversation, username: str, tokens: AccessTokens) -> None:
        async def show(token: str) -> Challenge | None:
            reply, challenge = await talk.show_token(username, token)
            if reply.code == smtp.LOGGED_IN:
                return None
            if self._is_wrong_login(reply):
                return challenge
            raise Unavailable(_LATER, code="login_unavailable")

        refused = await bearer.shown(tokens, show)
        if refused is not None:
            raise refused.refusal("login for sending")

    async def _converse(self, talk: Conversation, parcel: Parcel) -> Submission:
        refusal = await self._log_in_for(talk, parcel.sender)
        if refusal is not None:
            return refusal
        try:
            parameters = self._parameters(talk, parcel)
        except Unsupported as error:
            return not_sent(error.code, error.message)
        reply = await talk.sender(parcel.sender, parameters)
        if not smtp.is_good(reply):
            return not_sent("sender_refused", "the mail server did not take the sender", reply)
        told = tuple([_accepted(one, await talk.recipient(one)) for one in parcel.recipients])
        accepted = [one.accepted for one in told]
        if not (all(accepted) if self.all_or_none else any(accepted)):
            return not_sent("recipients_refused", "the mail server did not take the recipients", None, told)
        reply = await talk.text_next()
        if reply.code != smtp.TEXT_NEXT:
            return not_sent("refused_by_server", "the mail server did not want the message", reply, told)
        self._goes(parcel)
        return await self._hand_over(talk, parcel, told)

    def _parameters(self, talk: Conversation, parcel: Parcel) -> list[str]:
        """What is said with MAIL: only what the server offers, and only what is needed."""
        mail, needed, addresses = parcel.mail, parcel.needs, (parcel.sender, *parcel.recipients)
        if self.largest is not None and mail.size > self.largest:
            raise Unsupported(
                f"the message has {mail.size} octets, and the mail server takes {self.largest}", code="too_large"
            )
        parameters = [f"SIZE={mail.size}"] if talk.offers("size") else []
        if needed.eight_bit:
            if not talk.offers("8bitmime"):
                raise Unsupported("the mail server takes no 8-bit text", code="eight_bit_unsupported")
            parameters.append("BODY=8BITMIME")
        if needed.eight_bit_header or not all(one.isascii() for one in addresses):
            if not talk.offers("smtputf8"):
                raise Unsupported("the mail server takes no addresses beyond ASCII", code="utf8_address_unsupported")
            parameters.append("SMTPUTF8")
        return parameters

    async def _hand_over(self, talk: Conversation, parcel: Parcel, told: tuple[Accepted, ...]) -> Submission:
        """The text and its end. INVARIANT: from the final dot on nothing but a reply is believed."""
        try:
            early = await talk.text(wire_text.stuffed(parcel.mail))
        except MailError as error:
            return not_sent(error.code, f"{error.message}; its end was not sent", None, told)
        if early is not None:
            if smtp.is_good(early):
                return unknown("the mail server took the message before its end", told)
            return not_sent("refused_by_server", "the mail server broke the message off", early, told)
        try:
            reply = await talk.end(wire_text.END)
        except MailError as error:
            return unknown(error.message, told)
        except asyncio.CancelledError:
            return unknown("the wait for the answer was given up", told)
        return self._judged(parcel, reply, told)


def not_sent(
    code: str, why: str, reply: SMTPResponse | None = None, told: tuple[Accepted, ...] = (), *, stray: bool = False
) -> Submission:
    """It surely did not leave."""
    return Submission(Delivery.NOT_SENT, told, code, _with_reply(why, reply), stray)


def unknown(
    why: str, told: tuple[Accepted, ...] = (), reply: SMTPResponse | None = None, *, stray: bool = False
) -> Submission:
    """It may have left."""
    return Submission(Delivery.UNKNOWN, told, "answer_lost" if reply is None else "unclear_answer", why, stray)


def _with_reply(why: str, reply: SMTPResponse | None) -> str:
    return why if reply is None else f"{why} ({reply.code})"


def _accepted(recipient: str, reply: SMTPResponse) -> Accepted:
    words = printable(reply.message.encode("utf-8", "replace"))
    return Accepted(recipient, accepted=smtp.is_good(reply), code=reply.code, why=words)
