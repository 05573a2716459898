"""Artifacts: a file made from text that the agent wrote, or fetched from an https address, to be attached.

Octets never travel through a model (N-12).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.mime.file_names import file_name
from mcp_proton.services.fields import Mark, Stranger, Url
from mcp_proton.services.writing import fetching
from mcp_proton.services.writing.written import Body, FileName, MediaType


class ArtifactsCreate(Request):
    """Make a file from text, to attach it to a mail."""

    name: FileName
    text: Body
    media_type: Annotated[MediaType, Field(alias="type")] = "text/plain"


class ArtifactsFetch(Request):
    """Fetch a file from a URL, to attach it to a mail."""

    url: Url
    name: Annotated[FileName | None, Mark.TEXT] = None


class CreatedArtifact(Result):
    """The file: `attach` it by its id. `sha256` is over its octets, UTF-8."""

    artifact: str
    filename: str
    size: int
    sha256: str


async def create(request: ArtifactsCreate, ctx: Context) -> CreatedArtifact:
    """Write it into the managed store."""
    name = file_name(request.name)
    async with ctx.artifacts.create(ctx.caller, name, request.media_type.lower()) as writer:
        await writer.write(request.text.encode("utf-8"))
        kept = await writer.done()
    return CreatedArtifact(artifact=kept.id, filename=kept.filename, size=kept.size, sha256=kept.sha256)


class FetchedArtifact(Result):
    """The file: `attach` it by its id. `type` and `filename` are what its server said; `sha256` is over its octets."""

    artifact: str
    filename: Stranger
    type: Stranger
    size: int
    sha256: str


async def fetch(request: ArtifactsFetch, ctx: Context) -> FetchedArtifact:
    """Fetch it into the managed store."""
    kept = await fetching.fetch(request.url, request.name, ctx, fetching.MOST)
    return FetchedArtifact(
        artifact=kept.id, filename=kept.filename, type=kept.media_type, size=kept.size, sha256=kept.sha256
    )


artifacts_create = Operation(
    request=ArtifactsCreate,
    result=CreatedArtifact,
    effects=frozenset({Effect.DRAFT}),
    perform=create,
    example={"name": "agenda.md", "text": "# Agenda"},
)

artifacts_fetch = Operation(
    request=ArtifactsFetch,
    result=FetchedArtifact,
    effects=frozenset({Effect.FETCH}),
    perform=fetch,
    example={"url": "https://files.example.org/agenda.pdf"},
)
