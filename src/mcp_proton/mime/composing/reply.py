"""An original → what an answer to it, or a mail that passes it on, begins with (A-21, A-22, A-23, J-28, J-29, P-60)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.mime.composing import ancestry, quoting
from mcp_proton.mime.composing.answering import Recipients, recipients
from mcp_proton.mime.composing.subjects import forward_subject, reply_subject
from mcp_proton.mime.file_names import file_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.mime.composing.quoting import Quote
    from mcp_proton.mime.header.headers import Headers

_NO_PATH = str.maketrans("/\\", "__")


@dataclass(frozen=True, slots=True)
class Original:
    """The mail that is answered: its header, its readable text, its HTML source where it has one.

    `anchor` is the reference (with angle brackets) by which its server ties an answer to it.
    """

    headers: Headers
    text: str = ""
    html: str | None = None
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply begins with: all of a `Letter` that the original decides."""

    recipients: Recipients
    subject: str
    in_reply_to: str | None
    references: tuple[str, ...]
    quote: Quote


@dataclass(frozen=True, slots=True)
class Forward:
    """What a forward begins with. `filename` is for the original attached whole, as message/rfc822."""

    subject: str
    references: tuple[str, ...]
    quote: Quote
    filename: str


def reply(original: Original, own: Iterable[str], *, everyone: bool = False, no_reply: bool = False) -> Answer:
    """Return a reply to the sender, or to everyone. `own` are all the owner's addresses: nobody writes to oneself."""
    headers = original.headers
    named = ancestry.replying(headers, original.anchor)
    return Answer(
        recipients=recipients(headers, own, everyone=everyone, no_reply=no_reply),
        subject=reply_subject(headers.text("Subject")),
        in_reply_to=named.in_reply_to,
        references=named.references,
        quote=quoting.replied(headers, original.text, original.html),
    )


def forward(original: Original) -> Forward:
    """Return a forward, its recipients still to be chosen."""
    headers = original.headers
    subject = headers.text("Subject")
    name = file_name(subject[:100].translate(_NO_PATH)) if subject else "message"
    return Forward(
        subject=forward_subject(subject),
        references=ancestry.forwarding(headers, original.anchor).references,
        quote=quoting.forwarded(headers, original.text, original.html),
        filename=f"{name}.eml",
    )
