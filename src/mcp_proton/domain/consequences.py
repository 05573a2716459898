"""EffectTable: what a verb really does to mail on one kind of server. The data comes from the backend (P-20).

A row is a fact with evidence, keyed by verb, role of the source and role of the destination, and where it matters by the
kind of the message, by whether it is there already, and by whether a label or a star holds it. No row means that the
effect is not known, and an unknown effect is refused even where everything is allowed. A refused row is known too well:
it says why the verb is not done there, and what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role


class Evidence(StrEnum):
    """How we know: said by an RFC or by the provider itself, read in source, seen in a recording, tried on Proton's engine
    or on a server of the standard, seen on a live account, or not at all."""

    STANDARD = "standard"
    DOCUMENTED = "documented"
    SOURCE = "source"
    RECORDED = "recorded"
    ENGINE = "engine"
    SERVER = "server"
    LIVE = "live"
    UNVERIFIED = "unverified"


class End(StrEnum):
    """Where a message is afterwards, or what became of a mailbox."""

    MOVED = "moved"
    """in the destination"""
    HOME = "home"
    """in the home of its kind"""
    KEPT = "kept"
    """where it was"""
    COPIED = "copied"
    LABELLED = "labelled"
    UNLABELLED = "unlabelled"
    DELETED = "deleted"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Consequence:
    """One row: what the verb does between these roles (None: whatever role), how it ends, and how we know.

    `kind`, `there` and `held` are conditions; None: whatever. `shown_by` names recordings and tables. `refused`: never
    done; `result` says why and `instead` what to do. `withheld` is what of a message the server has and does not give out.
    """

    verb: str
    source: Role | None
    target: Role | None
    effects: frozenset[Effect]
    result: str
    evidence: tuple[Evidence, ...]
    end: End | None = None
    kind: str | None = None
    there: bool | None = None
    held: bool | None = None
    shown_by: tuple[str, ...] = ()
    refused: bool = False
    instead: str | None = None
    withheld: str | None = None

    @property
    def told(self) -> str:
        """What it does, and what it leaves out, as a person reads it."""
        return f"{self.result}, without {self.withheld}" if self.withheld else self.result

    @property
    def known_by(self) -> str:
        """How we know, as a person reads it: `recorded, engine`."""
        return ", ".join(one.value for one in self.evidence)

    @property
    def conditions(self) -> int:
        """How many conditions it has."""
        return sum(one is not None for one in (self.kind, self.there, self.held))

    def holds(self, kind: str | None, there: bool | None, held: bool | None) -> bool:
        """Whether its conditions are met by what is known of a message."""
        known = ((self.kind, kind), (self.there, there), (self.held, held))
        return all(wanted is None or wanted == fact for wanted, fact in known)


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that differ in their roles only, as a person reads them. Empty `targets`: the verb has no destination."""

    row: Consequence
    sources: tuple[str, ...]
    targets: tuple[str, ...]


class EffectTable:
    """The rows of one backend. Asking for an unknown combination raises `Unsupported` (`unsupported_semantics`)."""

    def __init__(self, rows: Iterable[Consequence]) -> None:
        self.rows = tuple(rows)
        self._by_key: dict[tuple[str, Role | None, Role | None], list[Consequence]] = {}
        for row in sorted(self.rows, key=lambda one: -one.conditions):
            self._by_key.setdefault((row.verb, row.source, row.target), []).append(row)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> EffectTable:
        """Build a table from the parsed form of an `effects.yaml`. Raises ValueError on a malformed row."""
        rows = []
        for row in document["rows"]:
            for source in _roles(row.get("from")):
                rows += [_row(row, source, target) for target in _roles(row.get("to"))]
        return cls(rows)

    def blocks(self) -> list[Block]:
        """The rows in their order, those alike together: what a report and the documents show."""
        alike: dict[tuple[object, ...], dict[Role | None, list[Consequence]]] = {}
        for row in self.rows:
            alike.setdefault(_alike(row), {}).setdefault(row.source, []).append(row)
        found: dict[tuple[object, ...], Block] = {}
        for key, by_source in alike.items():
            for source, rows in by_source.items():
                targets = tuple(row.target.value for row in rows if row.target)
                known = found.get((key, targets))
                sources = (*(known.sources if known else ()), source.value if source else "any")
                found[key, targets] = Block(rows[0], sources, targets)
        return list(found.values())

    def of(
        self,
        verb: str,
        source: Role,
        target: Role | None = None,
        *,
        kind: str | None = None,
        there: bool | None = None,
        held: bool | None = None,
    ) -> Consequence:
        """Return the row that applies: the most specific one wins. What is not known of a message meets no condition.

        Raises `Unsupported` (`unsupported_semantics`) when there is none, or when it says that this is not done.
        """
        for key in ((verb, source, target), (verb, source, None), (verb, None, target), (verb, None, None)):
            for row in self._by_key.get(key, ()):
                if row.holds(kind, there, held):
                    return _allowed(row)
        raise Unsupported(
            f"what `{verb}` does in a mailbox of this kind is not known",
            code="unsupported_semantics",
            next="nothing was done; `capabilities_report` lists what is known",
        )

    @property
    def withheld(self) -> str | None:
        """What of a message the server has and does not give out; None where nothing of that kind is known."""
        return next((row.withheld for row in self.rows if row.verb == "fetch" and row.withheld), None)


def _alike(row: Consequence) -> tuple[object, ...]:
    """What two rows of one block have in common."""
    return row.verb, row.effects, row.told, row.instead, row.evidence, row.kind, row.there, row.held


def _row(row: Mapping[str, Any], source: Role | None, target: Role | None) -> Consequence:
    return Consequence(
        row["verb"],
        source,
        target,
        frozenset(Effect(name) for name in row.get("effects", ())),
        row["result"],
        tuple(Evidence(one) for one in _several(row["evidence"])),
        end=End(row["end"]) if "end" in row else None,
        kind=row.get("kind"),
        there=row.get("there"),
        held=row.get("held"),
        shown_by=tuple(row.get("shown_by", ())),
        refused=row.get("refused", False),
        instead=row.get("instead"),
        withheld=row.get("withheld"),
    )


def _allowed(row: Consequence) -> Consequence:
    if row.refused:
        instead = row.instead or "`capabilities_report` lists what is done"
        raise Unsupported(row.result, code="unsupported_semantics", next=f"nothing was done; {instead}")
    return row


def _roles(names: Any) -> list[Role | None]:
    if names is None:
        return [None]
    return [Role(name) for name in _several(names)]


def _several(names: Any) -> Iterable[str]:
    return [names] if isinstance(names, str) else names
