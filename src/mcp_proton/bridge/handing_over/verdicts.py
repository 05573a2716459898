"""What Bridge's answer to a mail means. 554 is said of everything, so its text decides; and 554 is not "not sent" (B-04).

Bridge makes a draft, uploads the files, asks for the keys of the recipients, and sends. A refusal before the last step
has sent nothing, and may have left the draft. The last step is repeated by Bridge itself when its answer is lost, so a
refusal of it may follow a sending that was done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.outgoing import Delivery

if TYPE_CHECKING:
    from aiosmtplib import SMTPResponse

_TEXT = re.compile(r"(?:[0-9]\.[0-9]{1,3}\.[0-9]{1,3} )?(?:Error: )?(?:failed to send message: )?(.*)", re.DOTALL)
_DRAFT_REFUSED = re.compile(r"failed to create draft: (?:failed to create draft: )?4\d\d ")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` and `why` in our words. `stray`: a draft may be left. `is_identity`: an equal mail hangs for half an hour."""

    delivery: Delivery
    code: str
    why: str
    stray: bool = False
    is_identity: bool = False


_NOT_SENT = (
    ("invalid return path", "sender_refused", "Bridge does not know the sender as an address of this account"),
    ("cannot send from address", "sender_refused", "the sender is an address that is switched off or may not send"),
    ("invalid recipient", "recipients_refused", "Bridge took none of the recipients"),
    ("too many failed requests", "throttled", "Bridge takes no mail for 20 seconds after several failures"),
    ("no such user", "auth_failed", "Bridge does not know this login any more"),
    ("failed to read message", "malformed_message", "Bridge could not read the message"),
    ("smtp: too long a line", "malformed_message", "a line of the message is too long for Bridge"),
    ("too long line", "malformed_message", "a line of the message is too long for Bridge"),
    ("failed to create parser", "malformed_message", "Bridge could not take the message apart"),
    ("failed to parse message", "malformed_message", "Bridge could not read the people of the message"),
    ("illegal base64 data", "malformed_message", "Bridge could not decode a part of the message"),
    ("failed to get mail settings", "refused_by_server", "Proton did not answer before anything was made"),
    (
        "failed to check send hash",
        "poisoned",
        "an equal mail hangs in Bridge, and holds this one back for half an hour",
    ),
)
_LEFT_A_DRAFT = (
    ("failed to create attachments", "attachments_refused", "Proton did not take an attachment"),
    ("failed to get recipients", "recipients_refused", "Proton refused one of the recipients, and so the whole mail"),
)


def verdict(reply: SMTPResponse) -> Verdict:
    """What is known of a mail whose text was answered like this. Only 250 accepts; only known refusals are sure."""
    if reply.code == 250:
        return Verdict(Delivery.ACCEPTED, "", "")
    found = _TEXT.match(reply.message)
    text = found[1] if found is not None else ""
    folded = text.lower()
    for begin, code, why in _NOT_SENT:
        if folded.startswith(begin):
            identity = begin in {"invalid return path", "cannot send from address"}
            return Verdict(Delivery.NOT_SENT, code, why, is_identity=identity)
    for begin, code, why in _LEFT_A_DRAFT:
        if folded.startswith(begin):
            return Verdict(Delivery.NOT_SENT, code, f"{why}; a draft of it may be left", stray=True)
    if _DRAFT_REFUSED.match(text):
        return Verdict(Delivery.NOT_SENT, "refused_by_server", "Proton did not take the message")
    return Verdict(
        Delivery.UNKNOWN,
        "unclear_answer",
        "Bridge refused the mail in a way that does not say whether Proton had sent it",
        stray=True,
    )
