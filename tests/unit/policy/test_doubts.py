"""Recipients the owner does not know raise Allow to Ask, and nothing else (N-7)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.plan import Doubt, Doubtful, Impact, Plan, Scope
from mcp_proton.policy.boundaries import Fence
from mcp_proton.policy.decide import decide
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import Verdict

NOW = datetime(2026, 11, 30, tzinfo=UTC)
AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
SEND = frozenset({Impact(Effect.SEND, Scope("personal"))})


def verdict(preset: Preset, doubts: tuple[Doubtful, ...], caller: Caller = AGENT, *fences: Fence) -> Verdict:
    policy = Policy(presets=(Choice(preset),), clients=frozenset({"hermes"}), fences=fences)
    recipients = tuple(one.recipient for one in doubts) or ("known@example.org",)
    return decide(policy, caller, Plan(impacts=SEND, recipients=recipients, doubts=doubts), {}, NOW).verdict


@pytest.mark.parametrize("doubt", Doubt)
def test_a_doubtful_recipient_is_asked_about_where_sending_is_allowed(doubt: Doubt) -> None:
    assert verdict(Preset.AUTONOMOUS, ()) is Verdict.ALLOW
    assert verdict(Preset.AUTONOMOUS, (Doubtful("new@example.net", doubt),)) is Verdict.ASK


@pytest.mark.parametrize("doubt", Doubt)
def test_a_doubt_never_loosens(doubt: Doubt) -> None:
    for preset, wanted in ((Preset.READER, Verdict.DENY), (Preset.ASSISTANT, Verdict.ASK)):
        assert verdict(preset, (Doubtful("new@example.net", doubt),)) is wanted


def test_the_owner_is_not_asked_about_the_owners_own_mail() -> None:
    assert verdict(Preset.AUTONOMOUS, (Doubtful("new@example.net", Doubt.FIRST_CONTACT),), owner()) is Verdict.ALLOW


def test_whom_the_owner_named_in_a_boundary_is_no_doubt_and_who_is_outside_is_denied() -> None:
    one = (Doubtful("new@example.net", Doubt.FIRST_CONTACT),)
    named = Fence("x", recipients=frozenset({"@example.net"}))
    assert verdict(Preset.AUTONOMOUS, one, AGENT, named) is Verdict.ALLOW
    assert (
        verdict(Preset.AUTONOMOUS, one, AGENT, named, Fence("y", recipients=frozenset({"@*.example.net"})))
        is Verdict.DENY
    )


def test_the_reason_names_the_recipient_and_why() -> None:
    policy = Policy(presets=(Choice(Preset.AUTONOMOUS),), clients=frozenset({"hermes"}))
    plan = Plan(impacts=SEND, doubts=(Doubtful("new@example.net", Doubt.ONLY_RECEIVED),))
    assert "`new@example.net` is known from received mail only" in decide(policy, AGENT, plan, {}, NOW).why
