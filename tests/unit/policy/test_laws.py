"""The laws of the policy, over every policy and plan that hypothesis can think of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.plan import Impact, Plan
from mcp_proton.policy.boundaries import ON_EXISTING_MAIL
from mcp_proton.policy.decide import decide
from mcp_proton.policy.matrix import cell, loosest
from mcp_proton.policy.model import Policy
from mcp_proton.policy.rules import GRANTABLE, Place, Rule, Verdict

from .worlds import NOW, PLACES, callers, fences, one, plans, policies, rules, scopes


@given(policies, rules, callers, plans)
def test_adding_a_deny_never_loosens(policy, found, caller, plan):
    """P-14, P-16."""
    before = decide(policy, caller, plan, {}, NOW)
    stricter = replace(policy, rules=(*policy.rules, replace(found, verdict=Verdict.DENY)))
    assert decide(stricter, caller, plan, {}, NOW).verdict >= before.verdict


@given(policies, rules, callers, plans)
def test_asking_never_beats_denying_by_an_equally_specific_rule(policy, found, caller, plan):
    """P-14: Deny > Ask > Allow."""
    denied = replace(policy, rules=(*policy.rules, replace(found, verdict=Verdict.DENY)))
    both = replace(denied, rules=(*denied.rules, replace(found, verdict=Verdict.ASK)))
    assert decide(both, caller, plan, {}, NOW).verdict == decide(denied, caller, plan, {}, NOW).verdict


@given(policies, callers, plans, st.randoms())
def test_the_order_of_rules_presets_and_fences_is_irrelevant(policy, caller, plan, random):
    """P-14."""

    def shuffled(values):
        return tuple(random.sample(values, len(values)))

    other = replace(
        policy,
        rules=shuffled(policy.rules),
        presets=shuffled(policy.presets),
        fences=shuffled(policy.fences),
    )
    one, two = decide(policy, caller, plan, {}, NOW), decide(other, caller, plan, {}, NOW)
    assert (one.verdict, set(one.breaches), {r.verdict for r in one.reasons}) == (
        two.verdict,
        set(two.breaches),
        {r.verdict for r in two.reasons},
    )


@given(policies, callers, scopes)
def test_an_effect_no_preset_knows_is_denied_whatever_the_rules_say(policy, caller, scope):
    """P-17."""

    class Later(StrEnum):
        TELEPORT = "teleport"

    everything = replace(
        policy, rules=(*policy.rules, Rule(Verdict.ALLOW, GRANTABLE), Rule(Verdict.ALLOW, {Later.TELEPORT}))
    )
    plan = Plan(frozenset({Impact(Later.TELEPORT, scope)}))
    assert decide(everything, caller, plan, {}, NOW).verdict is Verdict.DENY
    assert decide(everything, owner(), plan, {}, NOW).verdict is Verdict.DENY


@given(policies, callers, scopes)
def test_no_rule_gives_an_agent_power_over_the_rules(policy, caller, scope):
    """P-19."""
    generous = replace(policy, rules=(*policy.rules, Rule(Verdict.ALLOW, frozenset(Effect), client=caller.name)))
    plan = Plan(frozenset({Impact(Effect.ADMINISTER, scope)}))
    assert decide(generous, caller, plan, {}, NOW).verdict is Verdict.DENY


@given(policies, rules, callers, plans)
def test_no_rule_ever_widens_a_boundary(policy, found, caller, plan):
    """P-15."""
    before = decide(policy, caller, plan, {}, NOW)
    wider = replace(
        policy, rules=(*policy.rules, replace(found, verdict=Verdict.ALLOW), Rule(Verdict.ALLOW, GRANTABLE))
    )
    after = decide(wider, caller, plan, {}, NOW)
    assert after.breaches == before.breaches
    assert not before.breaches or after.verdict is Verdict.DENY


@given(policies, fences, callers, plans)
def test_another_fence_only_narrows_and_all_fences_are_kept(policy, fence, caller, plan):
    """P-15: boundaries are intersected."""
    base = replace(policy, fences=())
    one = decide(replace(base, fences=policy.fences), caller, plan, {}, NOW)
    two = decide(replace(base, fences=(fence,)), caller, plan, {}, NOW)
    both = decide(replace(base, fences=(*policy.fences, fence)), caller, plan, {}, NOW)
    assert set(both.breaches) == set(one.breaches) | set(two.breaches)
    assert both.verdict == max(one.verdict, two.verdict)


@given(policies, rules, callers, plans)
def test_a_grant_ends_by_itself(policy, found, caller, plan):
    """P-18."""
    granted = replace(policy, grants=(replace(found, until=NOW),))
    assert decide(granted, caller, plan, {}, NOW) == decide(policy, caller, plan, {}, NOW)
    during = NOW - timedelta(seconds=1)
    still = replace(policy, rules=(*policy.rules, replace(found, until=NOW)))
    assert decide(granted, caller, plan, {}, during).verdict == decide(still, caller, plan, {}, during).verdict


@given(policies, callers, plans)
def test_a_plan_is_never_judged_milder_than_any_of_its_impacts(policy, caller, plan):
    """P-16: any Deny rejects, else any Ask reviews."""
    whole = decide(policy, caller, plan, {}, NOW)
    for impact in plan.impacts:
        assert whole.verdict >= decide(policy, caller, Plan(frozenset({impact})), {}, NOW).verdict


@given(policies, callers, st.sampled_from(PLACES), st.sampled_from(sorted(ON_EXISTING_MAIL)))
def test_leaving_the_mailbox_out_of_a_plan_gets_around_no_rule_about_a_mailbox(policy, caller, place, effect):
    closed = replace(policy, rules=(*policy.rules, Rule(Verdict.DENY, frozenset({effect}), place=Place(place))))
    assert decide(closed, caller, one(effect, mailbox=None), {}, NOW).verdict is Verdict.DENY


@given(policies, plans)
def test_the_owner_is_held_by_boundaries_and_by_nothing_else(policy, plan):
    decision = decide(policy, owner(), plan, {}, NOW)
    if decision.breaches:
        assert decision.verdict is Verdict.DENY
    else:
        assert decision.verdict is (Verdict.ASK if plan.effects & DESTRUCTIVE else Verdict.ALLOW)


@given(policies, callers, scopes, st.sampled_from(sorted(GRANTABLE)))
def test_a_tool_is_never_hidden_that_could_be_used_somewhere(policy, caller, scope, effect):
    found = decide(replace(policy, fences=()), caller, Plan(frozenset({Impact(effect, scope)})), {}, NOW)
    if scope.mailbox is not None:
        assert loosest(policy, caller, effect, NOW) <= found.verdict


@given(policies, callers, scopes, st.sampled_from(sorted(GRANTABLE)))
def test_every_effective_value_says_where_it_comes_from(policy, caller, scope, effect):
    """P-13."""
    found = cell(policy, caller.name, effect, scope, NOW)
    assert (
        found.verdict
        == decide(replace(policy, fences=()), caller, Plan(frozenset({Impact(effect, scope)})), {}, NOW).verdict
    )
    assert found.source
    assert str(found.reason)


@given(policies, plans, callers)
def test_a_refusal_exists_exactly_when_the_verdict_is_deny(policy, plan, caller):
    decision = decide(policy, caller, plan, {}, NOW)
    refusal = decision.refusal()
    assert (refusal is not None) == (decision.verdict is Verdict.DENY)
    assert refusal is None or refusal.message


@given(plans, callers)
def test_before_a_preset_is_chosen_nothing_is_allowed(plan, caller):
    """P-22."""
    policy = Policy(rules=(Rule(Verdict.ALLOW, GRANTABLE, client=caller.name),), clients=frozenset({caller.name}))
    decision = decide(policy, caller, plan, {}, NOW)
    assert decision.verdict is Verdict.DENY
    if Effect.ADMINISTER not in plan.effects:
        assert decision.refusal().code == "not_onboarded"


@given(policies, callers, scopes, st.sampled_from(sorted(GRANTABLE)))
def test_the_index_finds_exactly_the_rules_that_speak_of_a_case(policy, caller, scope, effect):
    slowly = [rule for rule in policy.about(effect) if rule.speaks_of(caller.name, scope, NOW)]
    found = policy.speaking(caller.name, effect, scope, NOW)
    assert sorted(found, key=repr) == sorted(slowly, key=repr)
