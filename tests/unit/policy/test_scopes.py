"""What a token's scopes leave open is intersected with the owner's rules, and nothing makes up for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.scopes import MAIL, READ, SEND, WRITE, effects_of, scopes_for
from mcp_proton.policy.decide import decide
from mcp_proton.policy.matrix import loosest
from mcp_proton.policy.presets import TABLE, Preset
from mcp_proton.policy.rules import Verdict

from .worlds import NOW, agent, assistant, one, plans, rule, verdicts

EVERYTHING = assistant(rule(Verdict.ALLOW), preset=Preset.AUTONOMOUS)


def limited(*names: str):
    return replace(agent(), effects=effects_of(names))


def test_each_effect_that_a_rule_can_allow_is_open_by_some_scope():
    """A-30."""
    assert effects_of(MAIL) == frozenset(TABLE)
    assert all(scopes_for(effect) for effect in TABLE)


@pytest.mark.parametrize(
    ("granted", "effect", "expected"),
    [
        ([READ], Effect.READ, Verdict.ALLOW),
        ([READ], Effect.SEND, Verdict.DENY),
        ([READ], Effect.ORGANIZE, Verdict.DENY),
        ([WRITE], Effect.READ, Verdict.DENY),
        ([WRITE], Effect.DESTROY, Verdict.ALLOW),
        ([READ, WRITE], Effect.SEND, Verdict.DENY),
        ([SEND], Effect.SEND, Verdict.ALLOW),
        ([], Effect.LIST, Verdict.DENY),
        (["mail", "mail.*", "MAIL.SEND", "mail.send "], Effect.SEND, Verdict.DENY),
    ],
)
def test_a_token_does_what_its_scopes_say_and_no_more_whatever_is_allowed(granted, effect, expected):
    """A-30: a token for reading never sends."""
    assert decide(EVERYTHING, limited(*granted), one(effect), {}, NOW).verdict is expected


def test_a_scope_widens_no_rule():
    """A-30: a scoped token does not override what the owner says."""
    policy = assistant(rule(Verdict.DENY, Effect.SEND), preset=Preset.AUTONOMOUS)
    found = decide(policy, limited(*MAIL), one(Effect.SEND), {}, NOW)
    assert found.verdict is Verdict.DENY
    assert "rule" in found.why


def test_the_refusal_names_the_scope_and_what_to_do():
    refused = decide(EVERYTHING, limited(READ), one(Effect.SEND), {}, NOW).refusal()
    assert refused is not None
    assert refused.code == "insufficient_scope"
    assert "`mail.send`" in refused.message
    assert "sign in again" in str(refused.next)


def test_what_is_out_of_scope_everywhere_is_not_shown():
    assert loosest(EVERYTHING, limited(READ), Effect.SEND, NOW) is Verdict.DENY
    assert loosest(EVERYTHING, limited(READ), Effect.READ, NOW) is Verdict.ALLOW


def test_the_owner_at_the_owners_surface_has_no_token():
    assert decide(EVERYTHING, owner(), one(Effect.SEND), {}, NOW).verdict is Verdict.ALLOW


@given(plan=plans, verdict=verdicts, granted=st.sets(st.sampled_from(sorted(MAIL))))
def test_scopes_only_ever_narrow(plan, verdict, granted):
    """A-30."""
    policy = assistant(rule(verdict), preset=Preset.AUTONOMOUS)
    free, held = decide(policy, agent(), plan, {}, NOW), decide(policy, limited(*granted), plan, {}, NOW)
    assert held.verdict >= free.verdict
    if not plan.effects <= effects_of(granted):
        assert held.verdict is Verdict.DENY
    assert decide(policy, limited(*MAIL), plan, {}, NOW).verdict is free.verdict
