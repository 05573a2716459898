"""EffectTable: what a verb really does to mail on one kind of server. The data comes from the backend (P-20).

A row is a fact with evidence, keyed by verb, role of the source and role of the destination. No row means that the
effect is not known, and an unknown effect is refused even where everything is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .effects import Effect
from .errors import Unsupported
from .mail import Role


class Evidence(StrEnum):
    """How we know: read in source, seen in a recording, tried on the engine, seen on a live account, or not at all."""

    STANDARD = "standard"
    SOURCE = "source"
    RECORDED = "recorded"
    ENGINE = "engine"
    LIVE = "live"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Consequence:
    """One row: what the verb does between these roles (None: whatever role), how it ends, and how we know."""

    verb: str
    source: Role | None
    target: Role | None
    effects: frozenset[Effect]
    result: str
    evidence: Evidence


class EffectTable:
    """The rows of one backend. Asking for an unknown combination raises `Unsupported` (`unsupported_semantics`)."""

    def __init__(self, rows: Iterable[Consequence]) -> None:
        self.rows = tuple(rows)
        self._by_key = {(row.verb, row.source, row.target): row for row in self.rows}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> EffectTable:
        """Build a table from the parsed form of an `effects.yaml`. Raises ValueError on a malformed row."""
        rows = []
        for row in document["rows"]:
            for source in _roles(row.get("from")):
                for target in _roles(row.get("to")):
                    effects = frozenset(Effect(name) for name in row["effects"])
                    rows.append(
                        Consequence(row["verb"], source, target, effects, row["result"], Evidence(row["evidence"]))
                    )
        return cls(rows)

    def of(self, verb: str, source: Role, target: Role | None = None) -> Consequence:
        """Return the row that applies: the most specific one wins. Raises `Unsupported` when there is none."""
        for key in ((verb, source, target), (verb, source, None), (verb, None, target), (verb, None, None)):
            if key in self._by_key:
                return self._by_key[key]
        raise Unsupported(
            f"what `{verb}` does in a mailbox of this kind is not known",
            code="unsupported_semantics",
            next="nothing was done; `capabilities_report` lists what is known",
        )


def _roles(names: Any) -> list[Role | None]:
    if names is None:
        return [None]
    return [Role(name) for name in ([names] if isinstance(names, str) else names)]
