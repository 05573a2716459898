"""The power to send over JMAP: all that it takes is one request (`handing`); the server files what it sent.

INVARIANT: nothing is sent twice. When the answer is lost it is UNKNOWN, and `trace` looks for it: while it lies in Drafts
it has not left, since the server takes it from there to Sent when it submits it (RFC 8621 §7.5).
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, MailError, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Accepted, Capacity, Delivery, Submission
from mcp_proton.imap.changing.appending import check_lines
from mcp_proton.imap.tracing import Tracing
from mcp_proton.jmap.changing import appending, refusals
from mcp_proton.jmap.errors import MethodFailed, ProtocolViolation, RequestRefused, acted
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call
from mcp_proton.jmap.submission import blobs
from mcp_proton.jmap.submission.handing import Handing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Identity, Mailbox
    from mcp_proton.domain.outgoing import Octets, Repetition, Trace
    from mcp_proton.jmap.finding.search import Searches
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object
    from mcp_proton.jmap.submission.blobs import Blobs
    from mcp_proton.jmap.submission.handing import Answers
    from mcp_proton.jmap.submission.identities import Identities

_ADDRESS = re.compile(r"[^\s<>\x00-\x1f\x7f@]{1,64}@[^\s<>\x00-\x1f\x7f@]{1,255}")
_REPLY = re.compile(r"([245]\d\d)[ -]")
_WHY = {
    "tooManyRecipients": ("too_many_recipients", "the mail server takes no mail to so many recipients"),
    "noRecipients": ("recipients_refused", "there is nobody to send it to"),
    "invalidRecipients": ("recipients_refused", "the mail server refuses a recipient"),
    "forbiddenMailFrom": ("sender_refused", "the mail server does not send for that sender"),
    "forbiddenFrom": ("sender_refused", "the mail server does not send for that sender"),
    "forbiddenToSend": ("sending_refused", "the mail server does not let this login send"),
    "tooLarge": ("too_large", "the mail server does not send mail so large"),
    "invalidEmail": ("message_refused", "the mail server refuses the message"),
}


class Outbox:
    """See `Submits`."""

    def __init__(
        self, client: Client, mailboxes: Mailboxes, searches: Searches, identities: Identities, blobs: Blobs
    ) -> None:
        self._client, self._mailboxes, self._identities, self._blobs = client, mailboxes, identities, blobs
        self._tracing = Tracing(searches, mailboxes.all)

    files_sent = True
    """the server takes what it submits from Drafts to Sent, as it is told to in the same request"""

    marks_answered = False
    """that is left to who sends (RFC 8621 §4.1.1)"""

    async def capacity(self) -> Capacity:
        """What an upload may hold."""
        largest = (await self._client.limits()).upload
        return Capacity(largest, largest)

    async def anchor(self, handle: Handle) -> str | None:
        """None: Message-IDs tie mails together."""
        return None

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """None: it sends what it is given."""
        return None

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """By envelopes in Sent and Drafts."""
        return await self._tracing.trace(message_id, since)

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """Once. What is refused leaves nothing behind, or says `stray`."""
        if not recipients or not all(_ADDRESS.fullmatch(one) for one in (sender, *recipients)):
            return _not_sent("invalid_address", "that is no address mail can be sent to or from")
        await check_lines(mail)
        largest = (await self._client.limits()).upload
        if largest is not None and mail.size > largest:
            return _not_sent("too_large", f"the message has {mail.size} octets, and no more than {largest} can be sent")
        identity = _for(sender, await self._identities.all())
        if identity is None:
            return _not_sent("sender_refused", "the mail server has no identity for that sender")
        submission = _submission(identity, sender, recipients)
        handing = await self._quickly(mail, submission)
        try:
            handing, answers = await self._handed_over(handing, mail)
            with acted():
                return await self._told(handing, answers, recipients)
        except Ambiguous as error:
            return Submission(Delivery.UNKNOWN, code=error.code, why=error.message)
        except MailError as error:
            if error.retry:
                raise
            return _not_sent(error.code, error.message)

    async def _quickly(self, mail: Octets, submission: Object) -> Handing:
        """With the octets in the same request where that is possible, and the mailboxes as they were last listed."""
        drafts, sent = _places(await self._mailboxes.lasting())
        carried = await self._blobs.along(mail)
        blob = f"#{blobs.NAME}" if carried is not None else await self._client.upload(mail)
        return Handing(blob, drafts, sent, submission, carried)

    async def _surely(self, mail: Octets, before: Handing) -> Handing:
        """With nothing taken for granted."""
        drafts, sent = _places(await self._mailboxes.all(fresh=True))
        if before.carried is not None and (drafts.id, sent.id) == (before.drafts.id, before.sent.id):
            self._blobs.upload_only()
        return Handing(await self._client.upload(mail), drafts, sent, before.submission)

    async def _handed_over(self, handing: Handing, mail: Octets) -> tuple[Handing, Answers]:
        """How it went in the end, and what was said of it.

        A second time only where surely nothing was even imported, because of something that was taken for granted.
        INVARIANT: a submission that may have been made is never made again.
        """
        try:
            answers = await self._once(handing)
        except (MethodFailed, RequestRefused):  # as a whole, before any of it was done
            if handing.carried is None:
                raise
        else:
            with acted():
                if not handing.is_mistaken(answers):
                    return handing, answers
        handing = await self._surely(mail, handing)
        return handing, await self._once(handing)

    async def _once(self, handing: Handing) -> Answers:
        """Ask, and where we are cancelled meanwhile say that nobody knows."""
        calls = handing.calls((await self._client.limits()).calls)
        asking = asyncio.ensure_future(self._mailboxes.along(*calls, changes=True))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            raise refusals.not_told() from None

    async def check_login(self) -> None:
        """Ask who may be sent as. Raises `Unavailable` or `Unsupported`."""
        await self._identities.all(fresh=True)

    async def _told(self, handing: Handing, answers: Answers, recipients: Sequence[str]) -> Submission:
        made, submitted, looked = handing.answers(answers)
        try:
            if isinstance(made, MethodFailed):
                raise refusals.of_method(made)
            email_id = appending.created(made)
        except (Ambiguous, ProtocolViolation):
            raise
        except MailError as error:
            return _not_sent(error.code, error.message)
        if isinstance(submitted, MethodFailed):
            reason = refusals.of_method(submitted)
            if isinstance(reason, Ambiguous):
                raise reason
            return _not_sent(reason.code, reason.message, stray=not await self._cleared(email_id))
        done = values.entry(submitted, "created", "s")
        if done is not None:
            return Submission(Delivery.ACCEPTED, _fates(recipients, done), sent=handing.seen(email_id, looked))
        why = values.entry(submitted, "notCreated", "s")
        if why is None:
            raise refusals.not_told()
        kind = values.text(why.get("type"))
        code, words = _WHY.get(kind, ("server_refused", "the mail server refused to send it"))
        return _not_sent(code, words, stray=not await self._cleared(email_id))

    async def _cleared(self, email_id: str) -> bool:
        """Take the message we just made, and that was not sent, away again. Whether that was done."""
        try:
            (answer,) = await self._client.ask(Call("Email/set", {"destroy": [email_id]}), changes=True)
            return not isinstance(answer, MethodFailed) and email_id in values.sequence(answer.get("destroyed") or [])
        except MailError:
            return False


def _places(boxes: Sequence[Mailbox]) -> tuple[Mailbox, Mailbox]:
    by_role = {box.role: box for box in boxes}
    drafts, sent = by_role.get(Role.DRAFTS), by_role.get(Role.SENT)
    if drafts is None or sent is None:
        raise Unsupported("sending needs a mailbox for drafts and one for sent mail")
    return drafts, sent


def _submission(identity: str, sender: str, recipients: Sequence[str]) -> Object:
    envelope = {"mailFrom": {"email": sender}, "rcptTo": [{"email": one} for one in recipients]}
    return {"identityId": identity, "envelope": envelope}


def _for(sender: str, known: Sequence[tuple[str, Identity]]) -> str | None:
    """The identity for a sender: of that address, of its domain (`*@example.org`), or of any (RFC 8621 §6.1)."""
    address = sender.lower()
    wanted = (address, "*@" + address.rpartition("@")[2], "")
    found = {identity.email.lower(): identity_id for identity_id, identity in reversed(known)}
    return next((found[one] for one in wanted if one in found), None)


def _fates(recipients: Sequence[str], told: Object) -> tuple[Accepted, ...]:
    """What is known of each recipient (`deliveryStatus`); without a word of refusal it was accepted with the whole."""
    status = values.mapping(told.get("deliveryStatus") or {})
    fates = []
    for one in recipients:
        reply = values.text(values.mapping(status.get(one) or {}).get("smtpReply"))
        found = _REPLY.match(reply)
        code = int(found[1]) if found else 250
        fates.append(Accepted(one, code < 400, code, reply[4:200] if code >= 400 else ""))
    return tuple(fates)


def _not_sent(code: str, why: str, *, stray: bool = False) -> Submission:
    return Submission(Delivery.NOT_SENT, code=code, why=why, stray=stray)
