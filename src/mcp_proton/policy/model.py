"""Policy: everything the owner said, as one frozen value; and Decision: what follows from it for one plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotOnboarded, OutOfBounds, OutOfScopes, OverLimit, Paused, Refused
from mcp_proton.policy.breaches import Breach, UsedUp
from mcp_proton.policy.index import RuleIndex
from mcp_proton.policy.reasons import AccountPaused, ClientPaused, NotChosen, OutOfScope, Reason
from mcp_proton.policy.rules import Place, Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from mcp_proton.domain.limits import Limit, Switches
    from mcp_proton.domain.plan import Scope
    from mcp_proton.policy.boundaries import Fence
    from mcp_proton.policy.presets import Choice

APPROVAL_LIFETIME = timedelta(minutes=15)
"""How long a question to the owner stays open unless the owner says otherwise (P-34)."""


@dataclass(frozen=True)
class Policy:
    """The owner's word. Nothing in it has an order that matters.

    `clients` are the owner's clients; a name that is not there is nobody. `presets` empty means that nothing was chosen
    yet. `custom` is the owner's own column, for the preset Custom.
    """

    presets: tuple[Choice, ...] = ()
    rules: tuple[Rule, ...] = ()
    grants: tuple[Rule, ...] = ()
    fences: tuple[Fence, ...] = ()
    custom: Mapping[Effect, Verdict] = field(default_factory=dict)
    clients: frozenset[str] = frozenset()
    paused_clients: frozenset[str] = frozenset()
    revoked_clients: frozenset[str] = frozenset()
    paused_accounts: frozenset[str] = frozenset()
    all_paused: bool = False
    frozen: frozenset[tuple[str, Effect]] = frozenset()
    approval_lifetime: timedelta = APPROVAL_LIFETIME
    _index: RuleIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        cells = (rule for choice in self.presets for rule in choice.rules(self.custom))
        object.__setattr__(self, "_index", RuleIndex((*cells, *self.rules, *self.grants)))

    def about(self, effect: Effect) -> tuple[Rule, ...]:
        """Return every rule, cell and grant that speaks of an effect."""
        return self._index.about(effect)

    def speaking(self, client: str, effect: Effect, scope: Scope, now: datetime) -> list[Rule]:
        """Return those that speak of an effect for this client there, now."""
        return [rule for rule in self._index.near(client, effect, scope) if rule.speaks_of(client, scope, now)]

    def with_switches(self, switches: Switches) -> Policy:
        """Return the policy with what the owner switched at run time."""
        grants = tuple(
            Rule(
                Verdict.of(grant.verdict),
                grant.effects - {Effect.ADMINISTER},
                grant.client,
                grant.account,
                Place(grant.place) if grant.place else None,
                grant.until,
                f"grant {grant.id}",
            )
            for grant in switches.granted
        )
        return replace(
            self,
            grants=grants,
            paused_clients=switches.paused_clients,
            revoked_clients=switches.revoked_clients,
            paused_accounts=switches.paused_accounts,
            all_paused=switches.all_paused,
            frozen=switches.frozen,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """The worst verdict, and everything that led to it.

    `reasons` has one entry for each impact and doubt (or one for the caller as a whole); `breaches` the boundaries crossed, any
    of which means DENY. `limits` must be handed to the journal, which counts and opens in one step.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    breaches: tuple[Breach, ...] = ()
    limits: tuple[Limit, ...] = ()

    @property
    def why(self) -> str:
        """What decided, in one line: the breaches, else the reasons that carry the verdict."""
        decisive: Iterable[Breach | Reason] = self.breaches or self._decisive
        return "; ".join(dict.fromkeys(map(str, decisive)))

    @property
    def _decisive(self) -> list[Reason]:
        return [reason for reason in self.reasons if reason.verdict is self.verdict]

    def refusal(self) -> Refused | None:
        """Return the refusal that a DENY means for the caller, None for any other verdict."""
        if self.verdict is not Verdict.DENY:
            return None
        if self.breaches:
            kind: type[Refused] = OverLimit if all(isinstance(one, UsedUp) for one in self.breaches) else OutOfBounds
            return kind(self.why)
        if any(isinstance(reason, NotChosen) for reason in self._decisive):
            return NotOnboarded(self.why)
        if all(isinstance(reason, ClientPaused | AccountPaused) for reason in self._decisive):
            return Paused(self.why)
        if any(isinstance(reason, OutOfScope) for reason in self._decisive):
            return OutOfScopes(self.why)
        return Refused(self.why)
