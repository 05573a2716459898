"""What the owner sees of a mail before it leaves: the envelope, what is new in it, where its links lead, and its exact text.

Everything is read off the fixed request: nothing of it is the agent's word about itself (N-6, A-40).
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.plan import Contact, ReviewLine, Unfamiliar
from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.hypertext import html as mime_html
from mcp_proton.mime.hypertext import targets
from mcp_proton.mime.notices import Notice
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.writing.written import Fixed, Thread, Written

_MOST_LINKS = 50
_CONTACTS = {
    Contact.FIRST: "never written to and never heard from, as far as was looked",
    Contact.ONLY_RECEIVED: "known from received mail only",
}


def lines(request: Written, unfamiliar: Sequence[Unfamiliar]) -> tuple[ReviewLine, ...]:
    """Return a line for each thing to look at, the risks first."""
    fixed = request.fixed
    if fixed is None:
        return ()
    return (
        *(
            ReviewLine("first contact", f"{one.recipient} ({_CONTACTS[one.contact]})", True, risk=True)
            for one in unfamiliar
        ),
        *_envelope(request, fixed),
        *_changes(request),
        *_links(request),
        *_attachments(request, fixed),
        *_texts(request),
        ReviewLine("size", f"{fixed.size} octets as sent"),
        ReviewLine("digest", f"sha256:{fixed.wire}"),
    )


def _envelope(request: Written, fixed: Fixed) -> list[ReviewLine]:
    name = f"{fixed.name} <{fixed.email}>" if fixed.name else fixed.email
    found = [ReviewLine("from", name)]
    for label, field in (("to", request.to), ("cc", request.cc), ("bcc, hidden from the others", request.bcc)):
        found += [ReviewLine(label, one, untrusted=True) for one in field]
    found.append(ReviewLine("subject", request.subject, untrusted=True))
    found.append(ReviewLine("date", instant(fixed.date)))
    found.append(ReviewLine("Message-ID", fixed.message_id))
    return found


def _changes(request: Written) -> list[ReviewLine]:
    """Say what it answers or passes on, and what is new in it against that."""
    thread = request.thread
    if thread is None:
        return []
    found = []
    if thread.source is not None:
        found.append(ReviewLine("passes on" if thread.passed_on else "answers", thread.source))
    if thread.calendar is not None:
        found.append(ReviewLine("answer to the invitation", thread.calendar, untrusted=True))
    if thread.quoted:
        found.append(ReviewLine("new text", _new(request.text, thread), untrusted=True))
        found.append(ReviewLine("quoted from the source", f"{len(thread.quoted.splitlines())} lines, below"))
    return found


def _new(text: str, thread: Thread) -> str:
    return text.replace(thread.quoted, "[…]", 1).strip() if thread.quoted in text else text


def _links(request: Written) -> list[ReviewLine]:
    found = (*targets.in_text(request.text), *(targets.in_html(request.html) if request.html is not None else ()))
    every = list(dict.fromkeys(found))
    shown = [_link(one) for one in every[:_MOST_LINKS]]
    if len(every) > _MOST_LINKS:
        shown.append(ReviewLine("links", f"{len(every) - _MOST_LINKS} more", risk=True))
    return shown


def _link(one: targets.Target) -> ReviewLine:
    if one.loaded:
        return ReviewLine("loads when it is opened", one.url, untrusted=True, risk=True)
    pretended = f" (shown as {one.pretended})" if one.pretended else ""
    return ReviewLine("link", f"{one.url}{pretended}", untrusted=True, risk=bool(one.pretended))


def _attachments(request: Written, fixed: Fixed) -> list[ReviewLine]:
    found = []
    for attach, one in zip(request.attach, fixed.enclosed, strict=True):
        told = f"{one.filename} ({one.media_type}, {one.size} octets, sha256:{one.sha256})"
        if one.url is not None:
            told += f", fetched from {one.url}"
        found.append(ReviewLine(f"attachment from {_source(attach.artifact, attach.message)}", told, untrusted=True))
    return found


def _source(artifact: str | None, message: str | None) -> str:
    return "an artifact" if artifact is not None else "a message" if message is not None else "a file"


def _texts(request: Written) -> list[ReviewLine]:
    """The exact text, and what a person reads of the HTML where that is another."""
    found = [ReviewLine("text", request.text, untrusted=True)]
    if visible(f"{request.subject}\n{request.text}").notices:
        found.append(
            ReviewLine("invisible characters", "subject or text holds some that can carry or turn text", risk=True)
        )
    if request.html is None:
        return found
    read = mime_html.to_text(request.html)
    if read.text.split() != request.text.split():
        found.append(ReviewLine("text of the HTML", read.text, untrusted=True))
    if Notice.HIDDEN_TEXT_REMOVED in read.notices:
        found.append(ReviewLine("hidden text", "the HTML holds text that no reader sees", risk=True))
    return found
