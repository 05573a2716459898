"""Redrafting: a stored draft → what it says, with what the server did not keep of it, to be shown, edited or sent (P-59).

`digest` is over all that a person would notice: a draft whose digest is another was changed since it was read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.draft_notes import DraftNote
from mcp_proton.domain.errors import Conflict, Invalid, Stale, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Attachment, Envelope, Part, Role
from mcp_proton.domain.outgoing import Letter
from mcp_proton.mime.composing.redraft import Loose, redraft
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.structure import selecting
from mcp_proton.services.fields import Mark
from mcp_proton.services.presenting import content
from mcp_proton.services.writing.written import MOST_TEXT, Attach, Thread, Written

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="from drafts_get"), Mark.TOKEN]


class Kept(BaseModel):
    """What is kept of a draft beside the server. `text` is the plain text beside HTML."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread: Thread | None = None
    text: str = ""
    unfinished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A draft as it is now. `lost` says in words what was kept of it and no longer fits."""

    handle: Handle
    envelope: Envelope
    letter: Letter
    attachments: Sequence[Attachment]
    loose: Sequence[Loose]
    thread: Thread | None
    unfinished: tuple[str, ...]
    digest: str
    kept_here: bool
    has_plain: bool
    lost: tuple[str, ...] = ()

    def attached(self, detach: Sequence[int] = ()) -> tuple[Attach, ...]:
        """Return its attachments, as a new version carries them on; those numbers left out."""
        ids = {one.part.path: one.content_id for one in self.loose}
        return tuple(
            Attach(message=str(self.handle), index=one.index, cid=ids[one.part.path])
            for one in self.attachments
            if one.index not in detach and one.part.path in ids
        )


async def read(draft: str, ctx: Context) -> Stored:
    """Read a draft. `Conflict` (`changed_elsewhere`) where it is not there any more, `Invalid` for what is no draft."""
    handle = Handle.parse(draft)
    if (await ctx.mailbox_of(handle)).role is not Role.DRAFTS:
        raise Invalid("this message is no draft", code="not_a_draft", next="`drafts_list` names them")
    backend = ctx.backend(handle.account)
    try:
        structure = await backend.structure(handle)
    except Stale:
        raise changed() from None
    block = (await backend.headers([handle])).get(handle)
    if block is None:
        raise changed()
    octets = {part.path: await _text(handle, part, ctx) for part in _texts(structure.root)}
    chosen = selecting.readable(structure.root)
    found = redraft(Headers(block), structure.root, lambda part: octets.get(part.path, b""))
    note = await ctx.draft_notes.find(handle.account, found.letter.message_id) if found.letter.message_id else None
    kept = Kept.model_validate_json(note.body) if note is not None else Kept()
    letter, lost = _whole(found.letter, kept, note)
    attachments = selecting.attachments(structure.root)
    return Stored(
        handle,
        structure.envelope,
        letter,
        attachments,
        found.loose,
        kept.thread or _thread(found.letter),
        tuple(dict.fromkeys((*found.unfinished, *kept.unfinished))),
        digest(found.letter, attachments),
        note is not None,
        bool(chosen.plain),
        lost,
    )


async def unchanged(draft: str, known: str, ctx: Context) -> Stored:
    """Read a draft that somebody saw before. `Conflict` (`changed_elsewhere`) if it is another by now (A-14)."""
    stored = await read(draft, ctx)
    if stored.digest != known:
        raise changed()
    return stored


async def sender(stored: Stored, ctx: Context) -> str | None:
    """Return a draft's sender, if the account may send as that; None: the account's own choice."""
    known = await ctx.backend(stored.handle.account).identities()
    wanted = stored.letter.sender.email.lower()
    return next((one.email for one in known if one.email.lower() == wanted), None)


async def keep(request: Written, unfinished: Sequence[str], ctx: Context, *, seal: str | None = None) -> bool:
    """Keep, before the draft is stored, what a server may drop of it; return whether there is anything."""
    if request.fixed is None:
        return False
    kept = Kept(
        thread=request.thread if request.thread != Thread() else None,
        text=request.text if request.html is not None else "",
        unfinished=tuple(unfinished),
    )
    if kept == Kept():
        return False
    sealed = seal or sealing(request.html)
    account = ctx.account(request.account)
    note = DraftNote(account, request.fixed.message_id, kept.model_dump_json(), sealed, ctx.clock.now())
    await ctx.draft_notes.keep(note)
    return True


def digest(letter: Letter, attachments: Sequence[Attachment]) -> str:
    """Return the digest of a stored draft, by which a change is noticed."""
    people = [[str(one) for one in some] for some in (letter.to, letter.cc, letter.bcc, letter.reply_to)]
    files = [[one.filename, one.media_type, one.size] for one in attachments]
    said = [letter.message_id, letter.subject, people, letter.text.strip(), (letter.html or "").strip(), files]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def sealing(html: str | None) -> str:
    """Return what says that an HTML body is still the one a plain text was written beside."""
    return hashlib.sha256("".join((html or "").split()).encode()).hexdigest()[:32]


def changed() -> Conflict:
    """The refusal to touch a draft that is not the one that was read."""
    return Conflict(
        "this draft was changed or moved elsewhere since it was read",
        code="changed_elsewhere",
        next="nothing was changed; read it again with drafts_list and drafts_get",
    )


def _whole(letter: Letter, kept: Kept, note: DraftNote | None) -> tuple[Letter, tuple[str, ...]]:
    """Put the plain text back beside the HTML it was written for."""
    if note is None or not kept.text or letter.html is None or letter.text.strip():
        return letter, ()
    if sealing(letter.html) != note.seal:
        return letter, ("its plain text: the HTML was changed elsewhere, and the text is made of that",)
    return replace(letter, text=kept.text), ()


def _thread(letter: Letter) -> Thread | None:
    if letter.in_reply_to is None and not letter.references and letter.calendar is None:
        return None
    return Thread(in_reply_to=letter.in_reply_to, references=letter.references, calendar=letter.calendar)


def _texts(root: Part) -> list[Part]:
    chosen = selecting.readable(root)
    calendars = [one for one in root.walk() if one.media_type == "text/calendar"]
    return list({one.path: one for one in (*chosen.plain, *chosen.html, *calendars)}.values())


async def _text(handle: Handle, part: Part, ctx: Context) -> bytes:
    octets, complete = await content.octets(ctx.backend(handle.account), handle, part.path, 2 * MOST_TEXT)
    if not complete:
        raise Unsupported("the text of this draft is too long to be edited here", code="too_large")
    return octets
