"""Written: what every request has that writes a mail (drafts, sending), and what is fixed of it before it is judged (A-40).

What a caller gives is in the fields with names; `fixed` is filled in by `letters.fix` and by nobody else: with it the request
is one message and no other, whenever it is performed (P-35).
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Finer, Request
from mcp_proton.domain.outgoing import Enclosure, Passage
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.domain.web_address import LONGEST
from mcp_proton.mime.decoding.characters import line, whole
from mcp_proton.services.fields import Account, Mark, OneHandle, Ours, Url, listed
from mcp_proton.services.presenting.attached import Index
from mcp_proton.services.writing.addressees import Recipients, Sender

MOST_TEXT = 1 << 20
MOST_ATTACHED = 50
_CLOSED = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

Subject = Annotated[str, AfterValidator(lambda text: line(whole(text))), Field(max_length=900), Mark.TEXT]
Body = Annotated[str, AfterValidator(whole), Field(max_length=MOST_TEXT), Mark.TEXT]
MediaType = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}$"), Mark.TOKEN]
FileName = Annotated[str, Field(max_length=255), Mark.TEXT]
ArtifactId = Annotated[str, Field(pattern=r"^[a-z0-9_]{2,40}$", description="artifact id"), Mark.TOKEN]
ContentId = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+/=?^_{|}~.@-]{1,200}$"), Mark.TOKEN]
MessageIds = tuple[Annotated[str, Field(max_length=1_100)], ...]


W = TypeVar("W", bound=Request)


class Attach(BaseModel):
    """What to attach: an artifact, a message (or its attachment `index`), a file or a URL. `cid` shows it in the HTML."""

    model_config = _CLOSED

    artifact: ArtifactId | None = None
    message: Annotated[OneHandle | None, Mark.HANDLE] = None
    index: Index | None = None
    path: Annotated[Path | None, Mark.PATH] = None
    url: Annotated[Url | None, Mark.URL] = None
    name: FileName | None = None
    cid: ContentId | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(one is not None for one in (self.artifact, self.message, self.path, self.url)) != 1:
            raise ValueError("name exactly one of `artifact`, `message`, `path` and `url`")
        if self.index is not None and self.message is None:
            raise ValueError("`index` counts the attachments of a `message`")
        return self


def _attachments(value: object) -> object:
    """Accept what models and shells send: one object, JSON in a string, bare artifact ids, paths, addresses."""
    given = listed(value)
    given = [given] if isinstance(given, dict) else given
    return [_attachment(one) for one in given] if isinstance(given, list | tuple) else given


def _attachment(one: object) -> object:
    if not isinstance(one, str):
        return one
    if one.startswith("{"):
        try:
            return json.loads(one)
        except ValueError:
            return one
    if one[:8].lower() == "https://":
        return {"url": one}
    return {"path": one} if one.startswith(("/", "~")) else {"artifact": one}


Attachments = Annotated[tuple[Attach, ...], BeforeValidator(_attachments), Field(max_length=MOST_ATTACHED), Mark.TOKEN]


class Enclosed(BaseModel):
    """What an attachment is, fixed: its octets are these and no others. `part` is the section of its message.

    `url` is where it was fetched from, before it was fixed; it is an artifact since.
    """

    model_config = _CLOSED

    filename: str
    media_type: str
    size: int
    sha256: str
    cid: str | None = None
    passage: Passage = Passage.BINARY
    line_feeds: int = 0
    part: str | None = None
    encoding: str | None = None
    url: Annotated[str, Field(max_length=LONGEST)] | None = None

    @property
    def enclosure(self) -> Enclosure:
        """It, as a part of a letter."""
        return Enclosure(
            self.filename, self.media_type, self.size, self.sha256, self.cid, self.passage, self.line_feeds
        )


class Fixed(BaseModel):
    """What makes the request one message: `wire` is the digest of its octets, `size` how many they are."""

    model_config = _CLOSED

    email: str
    name: str = ""
    message_id: str
    date: datetime
    enclosed: tuple[Enclosed, ...] = ()
    wire: str = ""
    size: int = 0


class Thread(BaseModel):
    """What a mail answers or passes on. `source` is that message; `calendar` the text of an answer to an invitation.

    `quoted` is what of the text was taken from the source: for showing the owner what is new. `draft` is the stored draft
    the mail was made from: it is removed once the mail has left.
    """

    model_config = _CLOSED

    source: Annotated[OneHandle | None, Mark.HANDLE] = None
    in_reply_to: Annotated[str, Field(max_length=1_100)] | None = None
    references: MessageIds = ()
    passed_on: bool = False
    calendar: Annotated[str, Field(max_length=MOST_TEXT)] | None = None
    quoted: Annotated[str, Field(max_length=MOST_TEXT)] = ""
    draft: Annotated[OneHandle | None, Mark.HANDLE] = None


class Written(Request):
    """What every mail has."""

    to: Recipients = ()
    cc: Recipients = ()
    bcc: Recipients = ()
    subject: Subject = ""
    text: Body = ""
    html: Annotated[Body | None, Mark.TEXT] = None
    attach: Attachments = ()
    sender: Annotated[Sender, Field(alias="from")] = None
    account: Account = None
    thread: Annotated[Thread | None, Mark.TOKEN, Ours()] = None
    fixed: Annotated[Fixed | None, Mark.TOKEN, Ours()] = None


def made(kind: type[W], **fields: object) -> W:
    """Make a request of fields that may be a stranger's. `Invalid` names what no mail can have, never its value."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        most = first.get("ctx", {}).get("max_length")
        what = f"there is more in it than the {most} that a mail can have" if most else "no mail can have what it holds"
        raise Invalid(
            f"`{first['loc'][0] if first['loc'] else kind.__name__}`: {what}",
            code="cannot_be_written",
            next="use mail_send, and choose what goes into it",
        ) from None


async def touched(request: Request, ctx: Context) -> frozenset[Impact]:
    """Return what attaching touches: reading messages, taking in files, fetching them."""
    impacts = set()
    attach: tuple[Attach, ...] = getattr(request, "attach", ())
    for one in attach:
        if one.message is not None:
            impacts.add(Impact(Effect.READ, await scope_of(one.message, ctx)))
        if one.path is not None:
            impacts.add(Impact(Effect.INGEST, Scope(account_of(request, ctx))))
        if one.url is not None:
            impacts.add(Impact(Effect.FETCH, Scope(account_of(request, ctx))))
    return frozenset(impacts)


async def scope_of(message: str, ctx: Context) -> Scope:
    """Return where a message is."""
    box = await ctx.mailbox_of(Handle.parse(message))
    return Scope(box.account, box.path, box.role)


def account_of(request: Request, ctx: Context) -> str:
    """Return the account that writes: the one named, the one of the message answered, or the default."""
    answered: str | None = getattr(request, "message", None)
    named: str | None = getattr(request, "account", None)
    return ctx.account(Handle.parse(answered).account if answered is not None and named is None else named)


async def ready(request: Request, ctx: Context) -> Finer:
    """What getting a mail ready touches: what is attached is read so that it can be fixed."""
    return Finer(effects=frozenset(), impacts=await touched(request, ctx))
