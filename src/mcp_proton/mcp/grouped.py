"""Grouped tools: every operation behind few tools, sorted by what they may do, so that the hints stay true.

A grouped tool takes `operation` and its `arguments` (an object, its JSON, or simply beside `operation`), and describes an
operation when asked to. One that a single field lifts into another group is in both: in the lower without that field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr

from mcp_proton.domain.caller import Surface
from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.effects import DESTRUCTIVE, READING, Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.mcp.arguments import Malformed
from mcp_proton.mcp.calls import turned_down
from mcp_proton.mcp.hints import base_effects, hints
from mcp_proton.mcp.replies import complain, say
from mcp_proton.mcp.tools import Offer, WireTool, call, describe
from mcp_proton.services.door.registry import primitive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fastmcp.tools.base import ToolResult

    from mcp_proton.mcp.doorway import Doorway
    from mcp_proton.services.door.offering import Offered
    from mcp_proton.services.door.registry import Definition

_CONTROLS = ("operation", "arguments", "describe")
_ORGANIZING = frozenset({Effect.ORGANIZE, Effect.EXPORT})


@dataclass(frozen=True, slots=True)
class Group:
    """A grouped tool: what it is about, and the effects that put an operation into it."""

    name: str
    about: str
    effects: frozenset[Effect]


GROUPS = (
    Group("mail_read", "Read mail.", READING),
    Group("mail_organize", "Organize mail, or save it as files.", _ORGANIZING),
    Group("mail_write", "Write and send mail.", frozenset(Effect) - READING - _ORGANIZING - DESTRUCTIVE),
    Group("mail_delete", "Delete mail for good.", DESTRUCTIVE),
)
"""From the harmless to the grave: an operation is in the last one whose effects it can have."""
JOURNAL = Group("operations", "Follow your operations, go on with approved ones.", frozenset())


def grouped(definitions: Iterable[Definition]) -> dict[Group, dict[str, Offer]]:
    """Sort operations into groups; groups without any are left out."""
    found: dict[Group, dict[str, Offer]] = {group: {} for group in (*GROUPS, JOURNAL)}
    for definition in definitions:
        if primitive(definition).steers:
            found[JOURNAL][definition.name] = Offer(definition)
            continue
        for effects in (base_effects(definition), primitive(definition).effects):
            group = _group(effects)
            found[group][definition.name] = Offer(definition, _ceiling(group))
    return {group: offers for group, offers in found.items() if offers}


def _group(effects: frozenset[Effect]) -> Group:
    return next((group for group in reversed(GROUPS) if group.effects & effects), GROUPS[0])


def _ceiling(group: Group) -> frozenset[Effect]:
    return frozenset[Effect]().union(*(one.effects for one in GROUPS[: GROUPS.index(group) + 1]))


class GroupTool(WireTool):
    """A group of operations as one tool."""

    _offers: Mapping[str, Offer] = PrivateAttr()
    _elsewhere: Mapping[str, str] = PrivateAttr()
    _doorway: Doorway = PrivateAttr()

    @classmethod
    def of(
        cls, group: Group, groups: Mapping[Group, Mapping[str, Offer]], doorway: Doorway, seen: Offered | None = None
    ) -> Self | None:
        """Make the tool as this caller sees it (all of it where `seen` is None); None where nothing is left to see."""
        effects = frozenset(Effect) if seen is None else seen.effects
        offers = groups[group]
        shown = {name: offer for name, offer in offers.items() if seen is None or _visible(group, offer, seen)}
        if not shown:
            return None
        lines = [
            f"{group.about} `describe`: true explains an operation.",
            *(_signature(one, effects) for one in shown.values()),
        ]
        tool = cls(
            name=group.name,
            description="\n".join(lines),
            parameters=_schema(list(shown)),
            annotations=hints(_effects(group, shown.values(), effects), repeatable=False),
        )
        tool._offers = offers
        tool._elsewhere = {name: other.name for other, held in groups.items() if other != group for name in held}
        tool._doorway = doorway
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Describe an operation, or put it to the door."""
        try:
            offer, given = self._chosen(arguments)
        except Invalid as wrong:
            return complain(await turned_down(self._doorway, Surface.TOOL, None, wrong))
        if arguments.get("describe") in (True, "true", "True", 1):
            return say(_described(offer))
        return await call(offer, given, self._doorway)

    def _chosen(self, arguments: dict[str, Any]) -> tuple[Offer, dict[str, Any]]:
        name = arguments.get("operation")
        if not isinstance(name, str):
            raise Malformed("`operation` is missing", next="name one of: " + ", ".join(self._offers))
        if name in self._offers:
            return self._offers[name], _given(arguments)
        if name in self._elsewhere:
            raise Invalid(
                f"`{name}` does more than this tool says",
                next=f"call `{self._elsewhere[name]}` with the same arguments",
                code="other_tool",
            )
        raise Malformed(
            f"there is no such operation{nearest(name, (*self._offers, *self._elsewhere))}",
            next="name one of: " + ", ".join(self._offers),
        )


def _described(offer: Offer) -> dict[str, Any]:
    return {
        "status": "ok",
        "operation": offer.name,
        "description": describe(offer.definition),
        "arguments": offer.shown(frozenset(Effect)),
    }


def _visible(group: Group, offer: Offer, seen: Offered) -> bool:
    """An operation that is in this group for one field only is of no use here when the field's effect is denied."""
    if offer.name not in seen.names:
        return False
    return (
        group is JOURNAL
        or _group(base_effects(offer.definition)) is group
        or bool(group.effects & offer.effects(seen.effects))
    )


def _effects(group: Group, offers: Iterable[Offer], open_effects: frozenset[Effect]) -> frozenset[Effect]:
    if group is JOURNAL:
        return open_effects | {Effect.ORGANIZE}
    return frozenset[Effect]().union(*(offer.effects(open_effects) for offer in offers))


def _schema(names: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "operation": {"type": "string", "enum": names},
            "arguments": {"type": "object"},
            "describe": {"type": "boolean"},
        },
        "required": ["operation"],
    }


def _signature(offer: Offer, open_effects: frozenset[Effect]) -> str:
    schema = offer.shown(open_effects)
    required = schema.get("required", ())
    fields = (name if name in required else f"{name}?" for name in schema["properties"])
    return f"{offer.name}({', '.join(fields)}): {describe(offer.definition)}"


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the operation's own arguments, wherever the model put them."""
    inner = arguments.get("arguments")
    if isinstance(inner, str) and inner.strip():
        try:
            inner = json.loads(inner)
        except ValueError:
            inner = ()
    if inner not in (None, "") and not isinstance(inner, dict):
        raise Malformed("`arguments` must be an object")
    beside = {name: value for name, value in arguments.items() if name not in _CONTROLS}
    return beside | (inner or {})
