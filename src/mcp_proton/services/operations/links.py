"""Links: files of any size in and out over HTTP, past every model's context, by URLs that are used once (N-12)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.domain.ports import Artifact
from mcp_proton.mime.file_names import file_name
from mcp_proton.services.acting import linking
from mcp_proton.services.fields import Mark, OneHandle, Stranger
from mcp_proton.services.presenting.answers import instant
from mcp_proton.services.presenting.attached import Index
from mcp_proton.services.writing import enclosing
from mcp_proton.services.writing.written import ArtifactId, Attach, FileName, MediaType, scope_of


class ArtifactsLink(Request):
    """Make a one-time download link of a file."""

    artifact: Annotated[ArtifactId | None, Mark.TOKEN] = None
    message: Annotated[OneHandle | None, Mark.HANDLE] = None
    index: Annotated[Index | None, Mark.TOKEN] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        Attach(artifact=self.artifact, message=self.message, index=self.index)
        return self


class ArtifactsUpload(Request):
    """Make a one-time upload link for a file to attach."""

    name: FileName
    media_type: Annotated[MediaType, Field(alias="type")] = "application/octet-stream"


class DownloadLink(Result):
    """GET it once, until it expires. `sha256` is over the octets it gives."""

    url: str
    artifact: str
    filename: Stranger
    size: int
    sha256: str
    expires_at: str


class UploadLink(Result):
    """PUT the octets once (`curl -T FILE URL`), at most `max_octets`; `artifact` is what to attach afterwards."""

    url: str
    artifact: str
    max_octets: int
    expires_at: str


async def served(request: ArtifactsLink, ctx: Context) -> ArtifactsLink:
    """See first that there is anybody to follow a link."""
    ctx.links.check()
    return request


async def served_upload(request: ArtifactsUpload, ctx: Context) -> ArtifactsUpload:
    """See first that there is anybody to follow a link."""
    ctx.links.check()
    return request.model_copy(update={"name": file_name(request.name)})


async def plan(request: ArtifactsLink, ctx: Context) -> Finer:
    """EXPORT, and READ where the file is taken out of a message."""
    scope = Scope() if request.message is None else await scope_of(request.message, ctx)
    effects = {Effect.EXPORT} if request.message is None else {Effect.EXPORT, Effect.READ}
    return Finer(effects=frozenset(), impacts=frozenset(Impact(effect, scope) for effect in effects))


async def link(request: ArtifactsLink, ctx: Context) -> DownloadLink:
    """Keep the file, and make the link."""
    kept, account = await _kept(request, ctx)
    url, made = await linking.download(kept, account, ctx)
    return DownloadLink(
        url=url,
        artifact=kept.id,
        filename=kept.filename,
        size=kept.size,
        sha256=kept.sha256,
        expires_at=instant(made.expires),
    )


async def _kept(request: ArtifactsLink, ctx: Context) -> tuple[Artifact, str | None]:
    if request.artifact is not None:
        return await ctx.artifacts.find(request.artifact, ctx.caller), None
    found = await enclosing.found(Attach(message=request.message, index=request.index), ctx)
    async with ctx.artifacts.create(ctx.caller, file_name(found.filename), found.media_type) as writer:
        done = 0
        async for chunk in found.octets:
            await writer.write(chunk)
            done += len(chunk)
            await ctx.progress(done, None, "saving")
        return await writer.done(), Handle.parse(str(request.message)).account


async def upload(request: ArtifactsUpload, ctx: Context) -> UploadLink:
    """Make the link; what it will make has its name already."""
    url, made = await linking.upload(request.name, request.media_type.lower(), ctx)
    return UploadLink(url=url, artifact=made.artifact, max_octets=made.most, expires_at=instant(made.expires))


artifacts_link = Operation(
    request=ArtifactsLink,
    result=DownloadLink,
    effects=frozenset({Effect.EXPORT, Effect.READ}),
    purpose=Effect.EXPORT,
    pin=served,
    plan=plan,
    perform=link,
    example={"message": "personal.ei5nnz.sd2egw-2n9c", "index": 1},
)

artifacts_upload = Operation(
    request=ArtifactsUpload,
    result=UploadLink,
    effects=frozenset({Effect.DRAFT}),
    pin=served_upload,
    perform=upload,
    example={"name": "plans.pdf", "type": "application/pdf"},
)
