"""Dispatch: one mail, handed over once (P-92, N-16).

    no sign of a repeat → remembered, durable → submitted → what the server said, durable

Whatever is lost after that is stage UNKNOWN and settled by looking (`following`), never by sending again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from mcp_proton.domain.context import Outgoing
from mcp_proton.domain.errors import MailError, OverLimit, Unsupported
from mcp_proton.domain.outcome import Record
from mcp_proton.domain.outgoing import Delivery, Submission, Submits
from mcp_proton.domain.ports import MailBackend
from mcp_proton.domain.sendings import Sending, Stage
from mcp_proton.services.acting.batches import Stopped
from mcp_proton.services.writing import repeats

if TYPE_CHECKING:
    from mcp_proton.services.door.call import Call

_log = logging.getLogger(__name__)
_STAGES = {
    Delivery.ACCEPTED: Stage.ACCEPTED,
    Delivery.NOT_SENT: Stage.NOT_SENT,
    Delivery.UNKNOWN: Stage.UNKNOWN,
}


class Dispatch:
    """The mail of one record."""

    def __init__(self, call: Call, record: Record, mail: Outgoing) -> None:
        self._call = call
        self._record = record
        self._mail = mail

    async def run(self) -> Sending:
        """Send it, and return what is known of it then."""
        mail, call = self._mail, self._call
        submits = power(call.backend(mail.account))
        most = (await submits.capacity()).submit
        if most is not None and mail.octets.size > most:
            raise OverLimit(f"this mail is too large: the limit is {most} octets, as sent", code="too_large")
        said = repeats.content_of(mail.letter)
        async with call.world.leases.hold(f"{mail.account} sending") as lease:
            repetition = await submits.repetition(mail.letter.recipients, mail.octets)
            await repeats.check(call, mail, said, repetition)
            await call.still_allowed()
            with anyio.CancelScope(
                shield=True
            ):  # from here on it may have left: what became of it must be written down
                await lease.check()
                if not await call.journal.begin(self._record.id, 0):
                    raise Stopped("it was asked to stop before it was sent")
                sending = self._begun(said, None if repetition is None else repetition.key)
                await call.sendings.begin(sending)
                sending = self._ended(sending, await self._submit(submits))
                await self._write(sending)
        return sending

    def _begun(self, said: str, key: str | None) -> Sending:
        letter = self._mail.letter
        return Sending(
            operation=self._record.id,
            account=self._mail.account,
            message_id=letter.message_id,
            sender=letter.sender.email,
            recipients=letter.recipients,
            wire=self._mail.wire,
            size=self._mail.octets.size,
            receipt=receipt_of(self._mail.wire, letter.sender.email, letter.recipients),
            content=said,
            key=key,
            begun=self._call.clock.now(),
            draft=self._mail.draft,
        )

    async def _submit(self, submits: Submits) -> Submission:
        letter = self._mail.letter
        try:
            return await submits.submit(letter.sender.email, letter.recipients, self._mail.octets)
        except MailError as error:  # raised only while nothing was sent, unless it says that nobody knows
            delivery = Delivery.UNKNOWN if error.status == "unsure" else Delivery.NOT_SENT
            return Submission(delivery, code=error.code, why=error.message)
        except Exception as error:
            _log.error("fault while sending %s: %s", self._record.id, type(error).__name__)
            return Submission(Delivery.UNKNOWN, code="internal", why="a fault of ours in the middle of it")

    def _ended(self, sending: Sending, said: Submission) -> Sending:
        return replace(
            sending,
            stage=Stage.FOUND if said.sent is not None else _STAGES[said.delivery],
            sent=said.sent,
            ended=self._call.clock.now(),
            code=said.code,
            answers=said.recipients,
            stray=said.stray,
            why=said.why or "",
        )

    async def _write(self, sending: Sending) -> None:
        """Write down what the server said. Where the store takes nothing more, it is found out by looking, later."""
        try:
            await self._call.sendings.write(sending)
        except MailError as error:
            _log.warning("how a mail left could not be written: %s", error.message)


def power(backend: MailBackend) -> Submits:
    """Return the account's power to send. `Unsupported` where it has none."""
    submits = backend.submits
    if submits is None:
        raise Unsupported(
            "this account cannot send",
            code="sending_not_configured",
            next="ask the owner to run `mcp-proton setup` for its SMTP server",
        )
    return submits


def receipt_of(wire: str, sender: str, recipients: tuple[str, ...]) -> str:
    """Return the digest over a message's octets (`wire`, their SHA-256) and its envelope, Bcc included (A-40)."""
    return hashlib.sha256(json.dumps([wire, sender, *recipients], separators=(",", ":")).encode()).hexdigest()
