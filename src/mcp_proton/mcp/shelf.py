"""Shelf: the tools and resources of one client, made anew for each listing, since the owner's rules may have changed.

It answers FastMCP's requests itself, before the framework looks among components of its own: there are none, and
looking would load its session store before the first answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from fastmcp.exceptions import NotFoundError
from fastmcp.server.middleware.middleware import Middleware
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from mcp_proton.config.values import Profile
from mcp_proton.domain.caller import Surface
from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError, NotFound
from mcp_proton.mcp import profiles, resources
from mcp_proton.mcp.arguments import Malformed
from mcp_proton.mcp.calls import guarded, turned_down
from mcp_proton.mcp.grouped import GroupTool, grouped
from mcp_proton.mcp.replies import complain
from mcp_proton.mcp.tools import OperationTool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import mcp_types
    from fastmcp.resources.base import Resource, ResourceResult
    from fastmcp.resources.template import ResourceTemplate
    from fastmcp.server.middleware.middleware import CallNext, MiddlewareContext
    from fastmcp.tools.base import Tool, ToolResult

    from mcp_proton.mcp.doorway import Doorway
    from mcp_proton.services.door.offering import Offered
    from mcp_proton.services.door.registry import Catalog

Value = TypeVar("Value")


class Shelf(Middleware):
    """What FastMCP asks for tools and resources.

    A tool that the caller's rules deny entirely is not listed, but it is there: calling it goes through the door, whose
    refusal explains itself. Where the service cannot be opened, every answer says why.
    """

    def __init__(self, doorway: Doorway, profile: Profile, *, output_schemas: bool = False) -> None:
        self._doorway = doorway
        self._profile = profile
        self._output = output_schemas
        self._callable: dict[str, Tool] = {}

    async def on_notification(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Begin to open in the background as soon as the client has read our answer to `initialize`."""
        if context.method == "notifications/initialized":
            self._doorway.begin()
        return await call_next(context)

    async def on_initialize(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Promise nothing that is not kept: lists are made anew for each listing, and their changes are not told."""
        return _without_list_changes(await call_next(context))

    async def on_discover(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The same, in the era without a handshake."""
        return _without_list_changes(await call_next(context))

    async def on_list_tools(
        self, context: MiddlewareContext[mcp_types.ListToolsRequest], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        """List what the profile has and the rules leave."""
        return await _or_say_why(self._listed)

    async def on_call_tool(
        self, context: MiddlewareContext[mcp_types.CallToolRequestParams], call_next: CallNext[Any, ToolResult]
    ) -> ToolResult:
        """Call a tool of the profile. Trouble with opening is an ordinary answer: agents lock out servers that fault."""

        async def called() -> ToolResult:
            catalog = (await self._doorway.service()).world.catalog
            try:
                tool = self._tool(catalog, context.message.name)
            except Malformed as wrong:
                raise await turned_down(self._doorway, Surface.TOOL, None, wrong) from None
            return await tool.run(context.message.arguments or {})

        try:
            return await guarded(called)
        except MailError as error:
            return complain(error)

    async def on_list_resource_templates(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[ResourceTemplate]]
    ) -> Sequence[ResourceTemplate]:
        """List what can be read by an id."""
        return await _or_say_why(self._templates)

    async def on_list_resources(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Resource]]
    ) -> Sequence[Resource]:
        """List what can be read without one."""
        return await _or_say_why(self._concrete)

    async def on_read_resource(
        self, context: MiddlewareContext[mcp_types.ReadResourceRequestParams], call_next: CallNext[Any, ResourceResult]
    ) -> ResourceResult:
        """Read through the door."""
        uri = str(context.message.uri)

        async def read() -> ResourceResult | None:
            found = resources.find((await self._doorway.service()).world.catalog, self._doorway, uri)
            if found is not None:
                return await found.read_at(uri)
            told = await turned_down(self._doorway, Surface.RESOURCE, None, NotFound("there is no such resource"))
            if isinstance(told, NotFound):
                return None
            raise told

        content = await _or_say_why(read)
        if content is None:
            raise NotFoundError("there is no such resource")
        return content

    def tools(self, catalog: Catalog, seen: Offered | None = None) -> list[Tool]:
        """Make the profile's tools as a caller sees them; where `seen` is None, all there is to call."""
        offers = profiles.offers(self._profile, catalog)
        if self._profile is Profile.COMPACT:
            groups = grouped(offer.definition for offer in offers.values())
            made = (GroupTool.of(group, groups, self._doorway, seen) for group in groups)
            return [tool for tool in made if tool is not None]
        effects = frozenset(Effect) if seen is None else seen.effects
        shown = (offer for offer in offers.values() if seen is None or offer.name in seen.names)
        return [OperationTool.of(offer, self._doorway, effects, output=self._output) for offer in shown]

    def _tool(self, catalog: Catalog, name: str) -> Tool:
        if not self._callable:
            self._callable = {tool.name: tool for tool in self.tools(catalog)}
        if name not in self._callable:
            raise Malformed(
                f"there is no such tool{nearest(name, self._callable)}", next="list the tools", code="no_such_tool"
            )
        return self._callable[name]

    async def _listed(self) -> list[Tool]:
        service = await self._doorway.service()
        return self.tools(service.world.catalog, await service.offered(self._doorway.caller(Surface.TOOL)))

    async def _templates(self) -> list[resources.OperationTemplate]:
        service = await self._doorway.service()
        seen = await service.offered(self._doorway.caller(Surface.RESOURCE))
        return [one for one in resources.templates(service.world.catalog, self._doorway) if one.name in seen.names]

    async def _concrete(self) -> list[resources.ListedResource]:
        return await resources.concrete(await self._doorway.service(), self._doorway)


def _without_list_changes(result: mcp_types.InitializeResult | mcp_types.DiscoverResult) -> Any:
    offered = result.capabilities
    for one in (offered.tools, offered.prompts, offered.resources):
        if one is not None:
            one.list_changed = False
    return result


async def _or_say_why(work: Callable[[], Awaitable[Value]]) -> Value:
    """Do it, or tell the client by the protocol why not: an empty list would look like a server without anything."""
    try:
        return await guarded(work)
    except MailError as error:
        told = error.message if error.next is None else f"{error.message}; {error.next}"
        raise MCPError(code=INTERNAL_ERROR, message=told) from None
