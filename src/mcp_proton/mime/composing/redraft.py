"""A stored draft → the letter it was, to be edited or sent: nothing of it lost, nothing of a server's own kept.

Unlike what is read to a person, the text is not cleaned of what cannot be seen: it is the owner's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Enclosure, Letter
from mcp_proton.mime.composing.addressing import usable
from mcp_proton.mime.composing.ancestry import is_internal
from mcp_proton.mime.composing.enclosures import writable_content_id
from mcp_proton.mime.composing.fields import writable_id
from mcp_proton.mime.decoding import charset, encoding
from mcp_proton.mime.decoding.characters import whole
from mcp_proton.mime.decoding.text import unfold
from mcp_proton.mime.file_names import file_name
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.header.headers import Headers, message_ids
from mcp_proton.mime.hypertext import html
from mcp_proton.mime.structure.kinds import made_up_name
from mcp_proton.mime.structure.reading import HTML
from mcp_proton.mime.structure.selecting import attachments, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_proton.domain.mail import Attachment, Part
    from mcp_proton.mime.composing.enclosing import Survey

_NO_TEXT = str.maketrans("", "", "\0")
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,60}")
_KEPT_PARAMETERS = ("charset", "method", "header")


@dataclass(frozen=True, slots=True)
class Loose:
    """A part of a draft that becomes an enclosure again, once its octets have been surveyed."""

    part: Part
    filename: str
    media_type: str
    content_id: str | None = None

    def enclosed(self, survey: Survey) -> Enclosure:
        """Return it pinned by what was found of its decoded octets."""
        return survey.enclosure(self.filename, self.media_type, self.content_id)


@dataclass(frozen=True, slots=True)
class Redraft:
    """The letter without its enclosures, which are `loose`; `unfinished` are recipients that are no addresses yet.

    `message_id` and `date` are the stored version's: a new version needs its own.
    """

    letter: Letter
    loose: tuple[Loose, ...] = ()
    unfinished: tuple[str, ...] = ()


def redraft(headers: Headers, root: Part, octets: Callable[[Part], bytes]) -> Redraft:
    """Return what a draft says. `octets` gives the encoded octets of a text part; only those of the body are asked for.

    What names a message of Bridge's own is left out of the threading fields: sent along, it would delete that draft.
    """
    people = {name: addresses(b", ".join(headers.all(name))) for name in ("From", "To", "Cc", "Bcc", "Reply-To")}
    answer = _calendar(root)
    text, page = _body(root, octets)
    return Redraft(
        Letter(
            sender=next(iter(people["From"]), Address("", "")),
            to=_finished(people["To"]),
            cc=_finished(people["Cc"]),
            bcc=_finished(people["Bcc"]),
            reply_to=_finished(people["Reply-To"]),
            subject=headers.text("Subject"),
            text=text,
            html=page,
            message_id=next(iter(_ids(headers, "Message-ID")), ""),
            date=date(headers.get("Date")),
            in_reply_to=next(iter(_ids(headers, "In-Reply-To")), None),
            references=_ids(headers, "References"),
            calendar=_source(answer, octets) if answer else None,
        ),
        loose=_loose(root, answer, page),
        unfinished=tuple(
            str(one) if one.email else one.name
            for name in ("To", "Cc", "Bcc", "Reply-To")
            for one in people[name]
            if not usable(one)
        ),
    )


def _finished(given: Sequence[Address]) -> tuple[Address, ...]:
    return tuple(one for one in given if usable(one))


def _ids(headers: Headers, name: str) -> tuple[str, ...]:
    given = message_ids(b" ".join(headers.all(name)))
    return tuple(one for one in given if writable_id(one) and not is_internal(one))


def _body(root: Part, octets: Callable[[Part], bytes]) -> tuple[str, str | None]:
    """Return the text and the HTML; a text that was only made from the HTML is not the owner's."""
    chosen = readable(root)
    pages = [_source(part, octets) for part in (chosen.html or chosen.plain) if part.media_type in HTML]
    texts = [_source(part, octets) for part in chosen.plain if part.media_type not in HTML]
    page = "\n".join(pages) if pages else None
    text = "\n\n".join(texts)
    if page is not None and text.strip() == html.to_text(page).text.strip():
        text = ""
    return text, page


def _source(part: Part, octets: Callable[[Part], bytes]) -> str:
    """Return the characters of a text part, its line ends as LF."""
    opened = encoding.decode(octets(part), part.encoding).octets
    declared = part.charset or (charset.declared_in_html(opened) if part.media_type in HTML else None)
    text = whole(charset.decode(opened, declared).text).replace("\r\n", "\n").replace("\r", "\n").translate(_NO_TEXT)
    if part.parameters.get("format", "").lower() == "flowed":
        return unfold(text, delete_space=part.parameters.get("delsp", "").lower() == "yes")
    return text


def _calendar(root: Part) -> Part | None:
    """Return the part that answers an invitation, as `compose` writes it."""
    return next(
        (
            part
            for part in root.walk()
            if part.media_type == "text/calendar" and "method" in part.parameters and part.disposition is None
        ),
        None,
    )


def _loose(root: Part, answer: Part | None, page: str | None) -> tuple[Loose, ...]:
    found = [one for one in attachments(root) if one.part is not answer]
    return tuple(
        Loose(
            part=one.part,
            filename=file_name(one.part.filename) if one.part.filename else made_up_name(one.part),
            media_type=_media_type(one.part),
            content_id=_content_id(one, page),
        )
        for one in found
    )


def _media_type(part: Part) -> str:
    said = {**part.parameters, **({"charset": part.charset} if part.charset else {})}
    kept = [f"{key}={said[key]}" for key in _KEPT_PARAMETERS if _PLAIN.fullmatch(said.get(key, ""))]
    return "; ".join([part.media_type or "application/octet-stream", *kept])


def _content_id(attached: Attachment, page: str | None) -> str | None:
    """Return the id of a part that the HTML shows."""
    named = attached.part.content_id
    if not named or page is None or not writable_content_id(named):
        return None
    return named if attached.inline or f"cid:{named}" in page else None
