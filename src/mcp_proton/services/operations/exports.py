"""Exports: messages written into the owner's folders, as EML files or one mbox, with a manifest beside them (P-63).

Asked for again under the same name, an export is gone on with: what is in it already is not written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.operation import Finer, Operation, Request, Result, Shorthand
from mcp_proton.domain.outcome import INLINE, Ending, Fate, Status
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.ports import MailBackend
from mcp_proton.domain.transfer import Export, Form
from mcp_proton.mime.file_names import file_name
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.asking import matching
from mcp_proton.services.fields import LocalPath, ManyHandles, Mark
from mcp_proton.services.presenting.filed import Undone, only_reason, parsed, undone

STEP = 500
"""Messages a step: nothing is changed by it, so that only the time between steps speaks for small ones."""
ExportName = Annotated[
    Annotated[str, Field(max_length=100)] | None,
    Field(description="of the export; the same name again goes on with it"),
    Mark.TEXT,
]
Shape = Annotated[Literal["eml", "mbox"], Field(description="one file a message, or all in one")]


class ExportsCreate(Request):
    """Write messages into an export folder, as EML or mbox."""

    messages: ManyHandles
    folder: LocalPath
    name: ExportName = None
    format: Shape = "eml"


class ExportsCreateMatching(matching.Matching):
    """Write all messages that match a query into a folder."""

    folder: LocalPath
    name: ExportName = None
    format: Shape = "eml"


class Exported(Result):
    """What was written. `path` is the folder of EML files or the mbox (mboxrd), `manifest` names every message in it.

    `done` were written now, `already` are in it from before or under another handle; `size` is in octets as the server has
    them. An mbox that is not complete ends in `.part`; ask again with the same `name` to go on. `withheld`: what the files
    lack, since the server does not give it out.
    """

    path: str
    manifest: str
    name: str
    done: int = 0
    already: int = 0
    size: int = 0
    not_done: list[Undone] = []
    failed: int = 0
    left: int = 0
    withheld: list[str] = []
    state: str | None = None
    more: str | None = None

    @property
    def ended(self) -> Status:
        """How the whole ended."""
        return Status(self.state) if self.state else Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """The one reason, where nothing was written and all have the same."""
        return only_reason((one.code for one in self.not_done), acted=self.done + self.already)


async def pin(request: ExportsCreate, ctx: Context) -> ExportsCreate:
    """Fix the name, so that an interrupted export is gone on with and not begun anew."""
    name = request.name or ctx.clock.now().astimezone(ctx.timezone).strftime("mail %Y-%m-%d %H.%M.%S")
    return request.model_copy(update={"name": file_name(name), "folder": request.folder.expanduser()})


async def plan(request: ExportsCreate, ctx: Context) -> Finer:
    """Say beforehand what the files will lack."""
    lacking = foreseeing.withheld(request.messages, ctx)
    return Finer(review=tuple(ReviewLine("not in the files", line, risk=True) for line in lacking))


async def export(request: ExportsCreate, ctx: Context) -> Exported:
    """Write them, a chunk at a time; each chunk is durable before the next is begun."""
    asked = parsed(request.messages)
    async with ctx.files.export(request.folder, request.name or "mail", Form(request.format)) as export:
        before = frozenset(export.written)

        async def act(backend: MailBackend, box: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
            missing = [one for one in handles if str(one) not in export.written]
            trouble: MailError | None = None
            try:
                await export.add(backend.whole(missing))
            except MailError as error:
                trouble = error
            if trouble is not None and not any(str(one) in export.written for one in handles):
                raise trouble
            return [_fate(one, export, before, trouble) for one in handles]

        tally = await ctx.batch(asked, act, "writing", step=STEP)
        if tally.stopped is None:
            await export.finish()
        others = [one for one in tally.others if one.ending is not Ending.SKIPPED or one.code == tally.stopped]
        mine = [export.written[text] for one in asked if (text := str(one)) in export.written]
        unfinished = tally.stopped is not None and request.format == "mbox"
        return Exported(
            path=f"{export.path}.part" if unfinished else str(export.path),
            manifest=str(export.manifest),
            name=request.name or "mail",
            done=tally.counts[Ending.DONE],
            already=tally.counts[Ending.SKIPPED],
            size=sum(one.size for one in mine),
            not_done=[undone(one) for one in others],
            failed=tally.counts[Ending.FAILED] if tally.counts[Ending.FAILED] > len(others) else 0,
            left=tally.left,
            withheld=list(foreseeing.withheld(request.messages, ctx)),
            state=None if tally.ended is Status.SUCCEEDED else tally.ended.value,
            more="operations_status names every message" if len(tally.others) >= INLINE else None,
        )


def _fate(handle: Handle, export: Export, before: frozenset[str], trouble: MailError | None) -> Fate:
    written = export.written.get(str(handle))
    if written is not None:
        if str(handle) in before or written.again:
            return Fate.skipped(handle, "already_there", "it is in the export already")
        return Fate.done(handle)
    if trouble is not None:
        return Fate.of_error(handle, trouble)
    return Fate(handle, Ending.FAILED, "stale_handle", "this handle no longer points at a message")


async def look(request: ExportsCreate, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look which of them the manifest names."""
    there = await ctx.files.exported(request.folder, request.name or "mail", Form(request.format))
    return [
        Fate.done(one.handle)
        if str(one.handle) in there
        else Fate(one.handle, Ending.FAILED, "not_done", "it is not in the export")
        for one in fates
    ]


async def matching_export(request: ExportsCreateMatching, ctx: Context) -> ExportsCreate:
    """Pin what matches."""
    found = await matching.matched(request, ctx)
    return ExportsCreate(messages=found, folder=request.folder, name=request.name, format=request.format)


exports_create = Operation(
    request=ExportsCreate,
    result=Exported,
    effects=frozenset({Effect.READ, Effect.EXPORT}),
    purpose=Effect.EXPORT,
    perform=export,
    pin=pin,
    plan=plan,
    look=look,
    chunked=True,
    repeatable=True,
    example={"messages": ["personal.ei5nnz.sd2egw-2n9c"], "folder": "/home/me/Mail", "format": "mbox"},
)

exports_create_matching = Shorthand(
    request=ExportsCreateMatching,
    into=exports_create,
    expand=matching_export,
    prepares=matching.PREPARES,
    example={"query": "before:2020-01-01", "mailboxes": ["archive"], "folder": "/home/me/Mail", "format": "mbox"},
)
