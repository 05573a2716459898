"""The same rules asked for everything at once: what holds, where it comes from, what an edit would change (P-13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.policy.decide import judge, leading, standing
from mcp_proton.policy.reasons import Reason, RuleSays
from mcp_proton.policy.rules import Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from mcp_proton.domain.mail import Role
    from mcp_proton.policy.boundaries import Fence
    from mcp_proton.policy.model import Policy

_ELSEWHERE = "\0"
"""A name that nobody can have: it stands for every account or mailbox that no rule names."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The effective value for one effect, client and scope, with the reason it rests on."""

    effect: Effect
    client: str
    scope: Scope
    reason: Reason

    @property
    def verdict(self) -> Verdict:
        """The effective value, boundaries apart."""
        return self.reason.verdict

    @property
    def source(self) -> str:
        """Where it comes from: `preset assistant`, `rule 3`, `grant g_7f3k`, `paused`."""
        return self.reason.source


@dataclass(frozen=True, slots=True)
class Voice:
    """A rule that speaks of a case, and what became of it: it decides, agrees, is overruled or is outranked."""

    rule: Rule
    part: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a cell is as it is: every rule that speaks of it, the decisive one first, and the boundaries beside them."""

    cell: Cell
    voices: tuple[Voice, ...]
    fences: tuple[Fence, ...]


def cell(policy: Policy, client: str, effect: Effect, scope: Scope, now: datetime) -> Cell:
    """Return the effective value of one case."""
    caller = _agent(client)
    reason = standing(policy, caller) or judge(policy, caller, Impact(effect, scope), now)
    return Cell(effect, client, scope, reason)


def matrix(policy: Policy, clients: Iterable[str], scopes: Sequence[Scope], now: datetime) -> list[Cell]:
    """Return every cell for these clients and scopes, effects in the order of the table."""
    return [cell(policy, client, effect, scope, now) for client in clients for scope in scopes for effect in Effect]


def explain(policy: Policy, client: str, effect: Effect, scope: Scope, now: datetime) -> Explanation:
    """Return why one case is as it is."""
    found = cell(policy, client, effect, scope, now)
    speaking = policy.speaking(client, effect, scope, now)
    foremost = leading(speaking)
    decisive = found.reason.rule if isinstance(found.reason, RuleSays) else None
    voices = [Voice(rule, _part(rule, decisive, foremost)) for rule in speaking]
    if decisive is not None and decisive not in speaking:
        voices.append(Voice(decisive, "decides"))
    order = ("decides", "agrees", "overruled", "outranked")
    return Explanation(
        found, tuple(sorted(voices, key=lambda voice: order.index(voice.part))), fences(policy, client, scope)
    )


def changes(
    before: Policy, after: Policy, clients: Iterable[str], scopes: Sequence[Scope], now: datetime
) -> list[tuple[Cell, Cell]]:
    """Return the cells whose verdict an edit changes: what a preview shows."""
    old, new = (matrix(policy, list(clients), scopes, now) for policy in (before, after))
    return [(was, becomes) for was, becomes in zip(old, new, strict=True) if was.verdict is not becomes.verdict]


def fences(policy: Policy, client: str, scope: Scope) -> tuple[Fence, ...]:
    """Return the boundaries that hold a client there, whatever the rules say."""
    return tuple(
        fence
        for fence in policy.fences
        if fence.client in (None, client) and (fence.account is None or scope.account in (None, fence.account))
    )


def loosest(policy: Policy, caller: Caller, effect: Effect, now: datetime) -> Verdict:
    """Return the best verdict this caller could get for an effect anywhere: DENY means there is no use in asking.

    For deciding what to show. It may promise too much where boundaries are narrow, never too little.
    """
    if standing(policy, caller) is not None:
        return Verdict.DENY
    return min(
        (judge(policy, caller, Impact(effect, scope), now).verdict for scope in _telling(policy, caller, effect)),
        default=Verdict.DENY,
    )


def _telling(policy: Policy, caller: Caller, effect: Effect) -> Iterator[Scope]:
    """Yield a scope for every difference that some rule about the effect makes."""
    rules = policy.about(effect)
    accounts = caller.accounts
    if accounts is None:
        accounts = frozenset(rule.account for rule in rules if rule.account is not None) | {_ELSEWHERE}
    places = {rule.place for rule in rules if rule.place is not None}
    roles: set[Role | None] = {place.role for place in places} | {None}
    paths = {_ELSEWHERE} | {place.path.replace("*", _ELSEWHERE) for place in places if place.role is None}
    for account in accounts:
        for role in roles:
            for path in paths:
                yield Scope(account, path, role)


def _part(rule: Rule, decisive: Rule | None, foremost: list[Rule]) -> str:
    if rule == decisive:
        return "decides"
    if rule not in foremost:
        return "outranked"
    return "agrees" if decisive is not None and rule.verdict is decisive.verdict else "overruled"


def _agent(client: str) -> Caller:
    return Caller(client, Audience.AGENT, Surface.TOOL)
