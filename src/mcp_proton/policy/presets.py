"""The preset table: what holds for every effect before the owner's own rules (P-11, P-12).

An effect without a row is unclassified, and unclassified is denied (P-17).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import Effect
from mcp_proton.policy.rules import Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


class Preset(StrEnum):
    """The starting points. CUSTOM is the owner's own column, and starts as Assistant."""

    READER = "reader"
    ASSISTANT = "assistant"
    AUTONOMOUS = "autonomous"
    CUSTOM = "custom"


_ALLOW, _ASK, _DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY

TABLE: Mapping[Effect, tuple[Verdict, Verdict, Verdict]] = MappingProxyType(
    {
        #                      reader  assistant autonomous
        Effect.LIST:          (_ALLOW, _ALLOW, _ALLOW),
        Effect.READ:          (_ALLOW, _ALLOW, _ALLOW),
        Effect.ORGANIZE:      (_DENY, _ALLOW, _ALLOW),
        Effect.DRAFT:         (_DENY, _ALLOW, _ALLOW),
        Effect.SEND:          (_DENY, _ASK, _ALLOW),
        Effect.DESTROY:       (_DENY, _ASK, _ALLOW),
        Effect.DELETE_FOLDER: (_DENY, _ASK, _ALLOW),
        Effect.DELETE_LABEL:  (_DENY, _ASK, _ALLOW),
        Effect.INGEST:        (_DENY, _ASK, _ALLOW),
        Effect.FETCH:         (_DENY, _ASK, _ALLOW),
        Effect.EXPORT:        (_DENY, _ASK, _ALLOW),
        Effect.IMPORT:        (_DENY, _ASK, _ALLOW),
        Effect.AUTOMATE:      (_DENY, _ASK, _ALLOW),
    }
)  # fmt: skip

_COLUMN = {Preset.READER: 0, Preset.ASSISTANT: 1, Preset.CUSTOM: 1, Preset.AUTONOMOUS: 2}


def verdict(preset: Preset, effect: Effect, custom: Mapping[Effect, Verdict]) -> Verdict:
    """Return what a preset says about an effect; DENY where the table has no row."""
    row = TABLE.get(effect)
    if row is None:
        return Verdict.DENY
    if preset is Preset.CUSTOM and effect in custom:
        return custom[effect]
    return row[_COLUMN[preset]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A preset the owner chose: for everything, or for one client or account."""

    preset: Preset
    client: str | None = None
    account: str | None = None

    def rules(self, custom: Mapping[Effect, Verdict]) -> tuple[Rule, ...]:
        """Return the preset's cells as the least specific rules there are."""
        return tuple(
            Rule(
                verdict(self.preset, effect, custom),
                frozenset({effect}),
                self.client,
                self.account,
                source=f"preset {self.preset}",
                baseline=True,
            )
            for effect in TABLE
        )
