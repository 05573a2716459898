"""Operation → MCP tool: name, description, schema and hints are read off; a call goes through the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fastmcp.tools.base import Tool, ToolResult
from pydantic import PrivateAttr

from mcp_proton.domain.caller import Surface
from mcp_proton.domain.effects import READING, Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.mcp import schemas
from mcp_proton.mcp.arguments import read
from mcp_proton.mcp.calls import reviewed, turned_down
from mcp_proton.mcp.hints import beyond, hints
from mcp_proton.mcp.replies import complain, reply
from mcp_proton.services.door.registry import Definition, primitive

if TYPE_CHECKING:
    import mcp_types
    from mcp_types import ToolAnnotations

    from mcp_proton.mcp.doorway import Doorway


@dataclass(frozen=True, slots=True)
class Offer:
    """An operation under a ceiling of effects: fields that would add others are not known there."""

    definition: Definition
    ceiling: frozenset[Effect] = frozenset(Effect)

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.definition.name

    @property
    def without(self) -> frozenset[str]:
        """The fields that are left out, in the schema and in calls."""
        return beyond(self.definition, self.ceiling)

    def shown(self, open_effects: frozenset[Effect]) -> dict[str, Any]:
        """Return the input schema for a caller; fields that would only be refused are not shown."""
        hidden = self.without | beyond(self.definition, open_effects)
        return schemas.arguments(self.definition.request, without=hidden)

    def effects(self, open_effects: frozenset[Effect]) -> frozenset[Effect]:
        """Return what it can do to this caller's mail."""
        return primitive(self.definition).effects & self.ceiling & open_effects

    def annotations(self, open_effects: frozenset[Effect]) -> ToolAnnotations:
        """Return the hints. Going on with an approved operation may do whatever was approved."""
        operation = primitive(self.definition)
        if not operation.steers:
            return hints(self.effects(open_effects), repeatable=operation.repeatable)
        if operation.uri is not None:
            return hints(READING, repeatable=True)
        return hints({Effect.ORGANIZE} if operation.repeatable else open_effects, repeatable=operation.repeatable)


class WireTool(Tool):
    """A tool without the framework's additions on the wire: no made-up title, no empty `_meta`."""

    KEY_PREFIX: ClassVar[str] = "tool"

    def to_mcp_tool(self, **overrides: Any) -> mcp_types.Tool:
        """Return the tool as it is listed."""
        return super().to_mcp_tool(**{"title": None, "_meta": None} | overrides)


class OperationTool(WireTool):
    """One operation as one tool."""

    _offer: Offer = PrivateAttr()
    _doorway: Doorway = PrivateAttr()

    @classmethod
    def of(
        cls,
        offer: Offer,
        doorway: Doorway,
        open_effects: frozenset[Effect] = frozenset(Effect),
        *,
        output: bool = False,
    ) -> Self:
        """Make the tool as this caller sees it."""
        tool = cls(
            name=offer.name,
            description=describe(offer.definition),
            parameters=offer.shown(open_effects),
            output_schema=schemas.answer(primitive(offer.definition).result) if output else None,
            annotations=offer.annotations(open_effects),
        )
        tool._offer = offer
        tool._doorway = doorway
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Do, ask or refuse. Never raises but on cancellation."""
        return await call(self._offer, arguments, self._doorway)


async def call(offer: Offer, arguments: dict[str, Any], doorway: Doorway) -> ToolResult:
    """Read the arguments, put the request to the door, tell how it ended."""
    try:
        request = read(offer.definition.request, arguments, offer.without)
    except Invalid as wrong:
        return complain(await turned_down(doorway, Surface.TOOL, offer.definition, wrong))
    told = await reviewed(doorway, Surface.TOOL, request)
    return told if isinstance(told, ToolResult) else reply(told)


def describe(definition: Definition) -> str:
    """Return the request's docstring as one paragraph."""
    return " ".join((definition.request.__doc__ or "").split())
