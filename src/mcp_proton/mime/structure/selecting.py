"""Which parts of a message a person reads, and which are attachments: judged on the tree alone, before any fetch.

The choice is that of RFC 8621 §4.1.4: alternatives give one text and one HTML view, inline pictures of an HTML part
are attachments marked inline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Attachment, AttachmentKind, Part
from mcp_proton.mime.file_names import file_name
from mcp_proton.mime.notices import Notice
from mcp_proton.mime.structure.kinds import kind, made_up_name, notices

if TYPE_CHECKING:
    from collections.abc import Sequence

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/enriched", "text/richtext", "text/x-markdown"})
_PASSED_OVER = frozenset({"text/x-amp-html", "text/watch-html", "application/pgp-encrypted"})
_MEDIA = ("image/", "audio/", "video/")
_STUB_LENGTH = 600
_STUB = re.compile(
    r"(does ?n[o']t|doesn.t|cannot|can.t|unable to|not able to|kein|nicht|ne (peut|supporte|prend)|no (puede|admite|soporta)"
    r"|non (supporta|può)|niet|nie obsługuje|не поддерживает)[^.!]{0,80}\bhtml"
    r"|\bhtml[^.!]{0,60}(not supported|nicht unterstützt|non pris|no compatible|non supportat|不支持|表示できません)"
    r"|(view|read|open|see|display|ansehen|anzeigen|öffnen|voir|lire|ver|visualizza|bekijk)[^.!]{0,60}"
    r"(html|browser|navigat(eur|or)|navegador)|html[- ]?(version|format|e-?mail|mail|nachricht|message)"
    r"|(im|in ihrem) browser (ansehen|anzeigen|öffnen|betrachten)|在浏览器|ブラウザ|html\s?(邮件|メール|形式)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+|[\[\]()<>*_=-]+")


@dataclass(frozen=True, slots=True)
class Readable:
    """The parts that are the body, in order of appearance: as plain text, and as HTML (empty where there is none).

    `plain` holds the HTML parts that have no plain counterpart only if plain parts stand beside them.
    """

    plain: tuple[Part, ...] = ()
    html: tuple[Part, ...] = ()


def readable(root: Part) -> Readable:
    """Choose the parts to read. Nothing below a message in the message is part of the body."""
    chosen = _Choice()
    chosen.walk(root)
    if not any(part.media_type in _HTML for part in chosen.html):
        return Readable(tuple(chosen.plain))
    if not any(part.media_type not in _HTML for part in chosen.plain):
        return Readable((), tuple(chosen.html))
    return Readable(tuple(chosen.plain), tuple(chosen.html))


def attachments(root: Part) -> tuple[Attachment, ...]:
    """Return what a person would call attachments, numbered from 1, under names safe on any file system.

    A name that had to be changed differs from `part.filename`.
    """
    chosen = _Choice()
    chosen.walk(root)
    return tuple(
        Attachment(
            index=number,
            part=part,
            filename=file_name(part.filename) if part.filename else made_up_name(part),
            media_type=part.media_type,
            size=part.size,
            inline=inline,
            kind=kind(part),
        )
        for number, (part, inline) in enumerate(chosen.attached, 1)
    )


def has_attachments(root: Part) -> bool:
    """Whether there is one that is neither part of the text's layout nor a signature of it."""
    return any(not one.inline and one.kind is not AttachmentKind.SIGNATURE for one in attachments(root))


def noted(root: Part, found: Sequence[Attachment]) -> frozenset[str]:
    """Return what the structure alone has to tell: encryption, signatures, bundles, invitations, changed names."""
    said = notices(frozenset(one.kind for one in found))
    types = {part.media_type for part in root.walk()}
    if "multipart/encrypted" in types:
        said |= {Notice.ENCRYPTED}
    if "multipart/signed" in types:
        said |= {Notice.SIGNED}
    if any(one.part.filename and one.part.filename != one.filename for one in found):
        said |= {Notice.FILE_NAME_CHANGED}
    return said


def is_stub(text: str) -> bool:
    """Whether a plain part says nothing but "look at the HTML": empty, only addresses, or a short sentence about HTML."""
    bare = _ADDRESS.sub(" ", text).strip()
    return not bare or (len(bare) <= _STUB_LENGTH and _STUB.search(bare) is not None)


class _Choice:
    """The three lists of RFC 8621 §4.1.4, filled in one walk."""

    def __init__(self) -> None:
        self.plain: list[Part] = []
        self.html: list[Part] = []
        self.attached: list[tuple[Part, bool]] = []

    def walk(self, root: Part) -> None:
        """Sort every part below this one."""
        self.sort(root, "mixed", first=True, alternative=False, to_plain=True, to_html=True)

    def sort(self, part: Part, within: str, *, first: bool, alternative: bool, to_plain: bool, to_html: bool) -> None:
        """Put one part into the lists it belongs to; `to_plain` and `to_html` say which views it may enter."""
        if part.media_type.startswith("multipart/"):
            self.several(part, alternative=alternative, to_plain=to_plain, to_html=to_html)
        elif part.media_type in _PASSED_OVER:
            return
        elif self.is_body(part, within, first=first) and (to_plain or to_html):
            html = part.media_type in _HTML
            if to_plain and not (html and alternative):
                self.plain.append(part)
            if to_html and not (alternative and not html):
                self.html.append(part)
        else:
            self.attached.append((part, self.is_inline(part, within)))

    def several(self, part: Part, *, alternative: bool, to_plain: bool, to_html: bool) -> None:
        """Sort the children of a multipart."""
        within = part.media_type.partition("/")[2]
        if within == "alternative":
            return self.alternatives(part, to_plain=to_plain, to_html=to_html)
        root = _related_root(part) if within == "related" else 0
        for place, child in enumerate(part.children):
            self.sort(
                child,
                within,
                first=place == root,
                alternative=alternative,
                to_plain=to_plain and (within != "related" or place == root),
                to_html=to_html and (within != "related" or place == root),
            )
        return None

    def alternatives(self, part: Part, *, to_plain: bool, to_html: bool) -> None:
        """Sort alternatives: a view that got nothing of its own takes what the other one got."""
        plain, html = len(self.plain), len(self.html)
        for child in part.children:
            self.sort(child, "alternative", first=True, alternative=True, to_plain=to_plain, to_html=to_html)
        if to_plain and len(self.plain) == plain:
            self.plain += self.html[html:]
        elif to_html and len(self.html) == html:
            self.html += self.plain[plain:]

    @staticmethod
    def is_body(part: Part, within: str, *, first: bool) -> bool:
        """Whether a text part is shown in place rather than listed."""
        if part.media_type not in _HTML | _TEXT or part.disposition == "attachment":
            return False
        return first or (within != "related" and not part.filename)

    @staticmethod
    def is_inline(part: Part, within: str) -> bool:
        """Whether an attachment belongs to the layout of the text."""
        if part.disposition == "attachment" and not (within == "related" and part.content_id):
            return False
        shown = within == "related" or part.disposition == "inline"
        return shown and part.media_type.startswith(_MEDIA)


def _related_root(part: Part) -> int:
    """Return the place of the root of a multipart/related: what `start` names, else the first (RFC 2387 §3.2)."""
    start = part.parameters.get("start", "").strip("<> ")
    return next((place for place, child in enumerate(part.children) if start and child.content_id == start), 0)
