"""What is looked at before a mail goes to Bridge, since Bridge does not say, hangs, or does something else (procedure 1).

The envelope and the header have to name the same people: Bridge sends to every Cc and Bcc of the header, whatever the
envelope says, and makes a hidden copy of a To that is written otherwise. A wrong From makes equal mails hang for half
an hour. A mail that is not whole cannot be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.mime.header.addresses import addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.bridge.handing_over.resend import Content
    from mcp_proton.mime.header.headers import Headers

WORDS = {
    "header": "a line of its header is no header line",
    "unclosed": "one of its multiparts has no end",
    "boundary": "one of its multiparts has no boundary",
    "depth": "it is nested too deeply",
}


def check_whole(content: Content) -> None:
    """Raise `Invalid` (`malformed_message`) for what Bridge can neither send nor store."""
    if content.damaged is not None:
        raise Invalid(f"the message is not whole: {WORDS[content.damaged]}", code="malformed_message")


def check(sender: str, recipients: Sequence[str], content: Content) -> None:
    """Raise `Invalid`, saying why, for a mail that must not reach Bridge."""
    check_whole(content)
    if content.nameless_image:
        raise Invalid(
            "an inline image has no Content-ID; Bridge would rewrite the whole mail", code="malformed_message"
        )
    named = people(content.header, "From")
    if [one.lower() for one in named] != [sender.lower()]:
        raise Invalid("the From header does not name the sender, and only the sender", code="sender_mismatch")
    exact, lowered = set(recipients), {one.lower() for one in recipients}
    for one in people(content.header, "To"):
        if one not in exact and one.lower() in lowered:
            raise Invalid(
                "a recipient is written otherwise in the To header than in the envelope", code="recipient_mismatch"
            )
    for one in (*people(content.header, "Cc"), *people(content.header, "Bcc")):
        if one not in exact:
            raise Invalid(
                "the Cc or Bcc header names somebody the envelope does not; Bridge would send to them",
                code="recipient_mismatch",
            )


def people(header: Headers, name: str) -> list[str]:
    """The addresses of all fields of a name."""
    return [one.email for value in header.all(name) for one in addresses(value) if one.email]
