"""Catalog: every operation and shorthand, found by walking `operations/`. Nobody keeps a second list."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.operation import Operation, Request, Shorthand
from mcp_proton.services import operations as package

Definition = Operation | Shorthand


@dataclass(frozen=True)
class Catalog:
    """All that can be asked for, by tool name and by request type."""

    by_name: Mapping[str, Definition]
    by_request: Mapping[type[Request], Definition]

    def __iter__(self) -> Iterator[Definition]:
        return iter(self.by_name.values())

    def for_audience(self, audience: Audience) -> list[Definition]:
        """Return what this audience may be shown: an agent never sees the owner's powers."""
        return [one for one in self if audience is Audience.OWNER or primitive(one).audience is audience]


def primitive(definition: Definition) -> Operation:
    """Return the operation itself, or the one a shorthand expands into."""
    return definition.into if isinstance(definition, Shorthand) else definition


def collect(definitions: Iterable[Definition]) -> Catalog:
    """Build a catalog. Raises ValueError on two definitions of one name."""
    by_name: dict[str, Definition] = {}
    for definition in definitions:
        if definition.name in by_name:
            raise ValueError(f"two operations are called `{definition.name}`")
        by_name[definition.name] = definition
    by_request = {definition.request: definition for definition in by_name.values()}
    ordered = dict(sorted(by_name.items()))
    return Catalog(MappingProxyType(ordered), MappingProxyType(by_request))


def load() -> Catalog:
    """Find every definition in the modules of `operations/`."""
    found: dict[int, Definition] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Operation | Shorthand):
                found[id(value)] = value
    return collect(found.values())
