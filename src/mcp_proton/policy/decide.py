"""decide: the one function that says whether a caller may do a plan now.

The worst verdict of all impacts counts (P-16). The most specific rule decides an impact; among equally specific ones
the strictest (P-14). Boundaries stand apart: they are intersected and nothing widens them (P-15).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.limits import Limit
from mcp_proton.domain.mail import VIEWS
from mcp_proton.policy.boundaries import ON_EXISTING_MAIL, Fence, closed_folders, names, reaches
from mcp_proton.policy.breaches import AccountOutside, Breach, UsedUp
from mcp_proton.policy.model import Decision, Policy
from mcp_proton.policy.presets import TABLE
from mcp_proton.policy.reasons import (
    AccountPaused,
    ClientPaused,
    ClientRevoked,
    Frozen,
    HostUnnamed,
    NotChosen,
    OutOfScope,
    OwnerConfirms,
    OwnerMay,
    OwnersAlone,
    Reason,
    RecipientUnfamiliar,
    RuleSays,
    Unclassified,
    UnknownClient,
    Unproved,
)
from mcp_proton.policy.rules import Rule, Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.plan import Impact, Plan

Usage = Mapping[Limit, int]
"""How much of each limit is used already; a limit that is missing counts as unused."""


def decide(policy: Policy, caller: Caller, plan: Plan, usage: Usage, now: datetime) -> Decision:
    """Judge a plan. Never raises: what cannot be judged is DENY.

    A plan without impacts (the journal family) needs a caller in good standing and nothing else.
    """
    barred = standing(policy, caller)
    if barred is not None:
        return Decision(Verdict.DENY, (barred,))
    reasons = tuple(judge(policy, caller, impact, now) for impact in _in_order(plan))
    if not caller.is_owner:  # who asks at the owner's own surface is the one who would be asked
        reasons += tuple(Unproved(doubt.account, doubt.verb) for doubt in sorted(plan.doubts))
    reasons += (*_unfamiliar(policy, caller, plan), *_unnamed(policy, caller, plan))
    fences = tuple(fence for fence in policy.fences if fence.applies(caller, plan))
    limits = _limits(fences, plan)
    breaches = tuple(dict.fromkeys(_breaches(fences, caller, plan, limits, usage)))
    verdict = Verdict.DENY if breaches else max((reason.verdict for reason in reasons), default=Verdict.ALLOW)
    return Decision(verdict, reasons, breaches, limits)


def limits(policy: Policy, caller: Caller, plan: Plan) -> tuple[Limit, ...]:
    """Return what must be counted for `usage` before this plan is judged; usually nothing."""
    return _limits(tuple(fence for fence in policy.fences if fence.applies(caller, plan)), plan)


def standing(policy: Policy, caller: Caller) -> Reason | None:
    """Return why this caller may do nothing at all, or None."""
    if caller.is_owner:
        return None
    if caller.name not in policy.clients:
        return UnknownClient(caller.name)
    if caller.name in policy.revoked_clients:
        return ClientRevoked(caller.name)
    if policy.all_paused or caller.name in policy.paused_clients:
        return ClientPaused(caller.name)
    return None


def judge(policy: Policy, caller: Caller, impact: Impact, now: datetime) -> Reason:
    """Say what holds for one impact, boundaries apart."""
    effect = impact.effect
    if effect is Effect.ADMINISTER:
        return OwnerMay(effect) if caller.is_owner else OwnersAlone(effect)
    if effect not in TABLE:
        return Unclassified(effect)
    if caller.effects is not None and effect not in caller.effects:
        return OutOfScope(effect)
    if caller.is_owner:
        return OwnerConfirms(effect) if effect in DESTRUCTIVE else OwnerMay(effect)
    if impact.scope.account in policy.paused_accounts:
        return AccountPaused(str(impact.scope.account))
    if policy.frozen and (impact.scope.account, effect) in policy.frozen:
        return Frozen(effect, str(impact.scope.account))
    speaking = policy.speaking(caller.name, effect, impact.scope, now)
    if not any(rule.baseline for rule in speaking):
        return NotChosen(caller.name)
    hidden = _elsewhere(policy, caller.name, impact, now) if _shows_other_places(impact, speaking) else ()
    return RuleSays(impact, caller.name, _winner([*leading(speaking), *hidden]))


def leading(speaking: list[Rule]) -> list[Rule]:
    """Return the rules that no other outranks."""
    return [rule for rule in speaking if not any(other.outranks(rule) for other in speaking)]


def _winner(candidates: list[Rule]) -> Rule:
    return max(candidates, key=lambda rule: (rule.verdict, rule.rank, rule.source))


def _shows_other_places(impact: Impact, speaking: list[Rule]) -> bool:
    """Whether an impact may fall on mail of mailboxes it does not name.

    INVARIANT: neither leaving the mailbox out of a plan nor looking through a view (All Mail, Starred, a label) gets
    around a rule about a mailbox. Only a rule of the owner's about the view itself does.
    """
    if impact.scope.mailbox is None:
        return impact.effect in ON_EXISTING_MAIL
    return impact.scope.role in VIEWS and all(rule.place is None for rule in speaking)


def _elsewhere(policy: Policy, client: str, impact: Impact, now: datetime) -> Iterator[Rule]:
    """Yield the mailbox rules that such an impact could fall under."""
    for rule in policy.about(impact.effect):
        if (
            rule.place is not None
            and rule.client in (None, client)
            and rule.account in (None, impact.scope.account)
            and (rule.until is None or now < rule.until)
        ):
            yield rule


def _breaches(
    fences: tuple[Fence, ...], caller: Caller, plan: Plan, limits: tuple[Limit, ...], usage: Usage
) -> Iterator[Breach]:
    if caller.accounts is not None and not plan.accounts <= caller.accounts:
        for account in sorted(plan.accounts - caller.accounts):
            yield AccountOutside(f"the accounts of client `{caller.name}`", account)
    for fence in fences:
        yield from fence.breaches(plan)
    yield from closed_folders(fences, plan)
    for limit in limits:
        asked, used = plan.units(limit.effect, limit.account), usage.get(limit, 0)
        if used + asked > limit.most:
            yield UsedUp(f"`rates` of {limit.source}", limit, used, asked)


def _limits(fences: tuple[Fence, ...], plan: Plan) -> tuple[Limit, ...]:
    return tuple(limit for fence in fences for limit in fence.limits(plan))


def _unfamiliar(policy: Policy, caller: Caller, plan: Plan) -> Iterator[Reason]:
    """Yield a reason to ask for every unfamiliar recipient that the owner has not named in a boundary that applies."""
    if caller.is_owner:
        return
    named = [fence.recipients for fence in policy.fences if fence.recipients and fence.applies(caller, plan)]
    for one in plan.unfamiliar:
        if not any(reaches(allowed, one.recipient) for allowed in named):
            yield RecipientUnfamiliar(one)


def _unnamed(policy: Policy, caller: Caller, plan: Plan) -> Iterator[Reason]:
    """Yield a reason to ask for every host that the owner has not named in a boundary that applies."""
    if caller.is_owner:
        return
    named = [fence.hosts for fence in policy.fences if fence.hosts and fence.applies(caller, plan)]
    for host in plan.hosts:
        if not any(names(allowed, host) for allowed in named):
            yield HostUnnamed(host)


def _in_order(plan: Plan) -> list[Impact]:
    if len(plan.impacts) < 2:
        return list(plan.impacts)
    return sorted(plan.impacts, key=lambda one: (one.effect, one.scope.account or "", one.scope.mailbox or ""))
