"""RuleIndex: finding the few rules that can matter to a case, so that a decision does not get slower with the rules."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mcp_proton.policy.rules import Rule, plain_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.domain.effects import Effect
    from mcp_proton.domain.plan import Scope

_Pile = tuple[Rule, ...]


class RuleIndex:
    """Rules by effect and client; rules about one path apart from the rest, by that path."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        about: dict[Effect, list[Rule]] = defaultdict(list)
        broad: dict[tuple[Effect, str | None], list[Rule]] = defaultdict(list)
        exact: dict[tuple[Effect, str], list[Rule]] = defaultdict(list)
        for rule in rules:
            for effect in rule.effects:
                about[effect].append(rule)
                if rule.place is not None and rule.place.is_path:
                    exact[effect, rule.place.path].append(rule)
                else:
                    broad[effect, rule.client].append(rule)
        self._about: dict[Effect, _Pile] = {key: tuple(found) for key, found in about.items()}
        self._broad: dict[tuple[Effect, str | None], _Pile] = {key: tuple(found) for key, found in broad.items()}
        self._exact: dict[tuple[Effect, str], _Pile] = {key: tuple(found) for key, found in exact.items()}

    def about(self, effect: Effect) -> tuple[Rule, ...]:
        """Return every rule that speaks of an effect."""
        return self._about.get(effect, ())

    def near(self, client: str, effect: Effect, scope: Scope) -> tuple[Rule, ...]:
        """Return every rule that speaks of the case, and few others."""
        found = self._broad.get((effect, None), ()) + self._broad.get((effect, client), ())
        if self._exact and scope.mailbox is not None:
            found += self._exact.get((effect, plain_path(scope.mailbox)), ())
        return found
