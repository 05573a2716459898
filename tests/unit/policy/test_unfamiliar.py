"""Recipients the owner does not know raise Allow to Ask, and nothing else (N-7)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.plan import Contact, Impact, Plan, Scope, Unfamiliar
from mcp_proton.policy.boundaries import Fence
from mcp_proton.policy.decide import decide
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import Verdict

NOW = datetime(2026, 11, 30, tzinfo=UTC)
AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
SEND = frozenset({Impact(Effect.SEND, Scope("personal"))})


def verdict(preset: Preset, unfamiliar: tuple[Unfamiliar, ...], caller: Caller = AGENT, *fences: Fence) -> Verdict:
    policy = Policy(presets=(Choice(preset),), clients=frozenset({"hermes"}), fences=fences)
    recipients = tuple(one.recipient for one in unfamiliar) or ("known@example.org",)
    return decide(policy, caller, Plan(impacts=SEND, recipients=recipients, unfamiliar=unfamiliar), {}, NOW).verdict


@pytest.mark.parametrize("contact", Contact)
def test_an_unfamiliar_recipient_is_asked_about_where_sending_is_allowed(contact: Contact) -> None:
    assert verdict(Preset.AUTONOMOUS, ()) is Verdict.ALLOW
    assert verdict(Preset.AUTONOMOUS, (Unfamiliar("new@example.net", contact),)) is Verdict.ASK


@pytest.mark.parametrize("contact", Contact)
def test_an_unfamiliar_recipient_never_loosens(contact: Contact) -> None:
    for preset, wanted in ((Preset.READER, Verdict.DENY), (Preset.ASSISTANT, Verdict.ASK)):
        assert verdict(preset, (Unfamiliar("new@example.net", contact),)) is wanted


def test_the_owner_is_not_asked_about_the_owners_own_mail() -> None:
    assert verdict(Preset.AUTONOMOUS, (Unfamiliar("new@example.net", Contact.FIRST),), owner()) is Verdict.ALLOW


def test_whom_the_owner_named_in_a_boundary_is_known_and_who_is_outside_is_denied() -> None:
    one = (Unfamiliar("new@example.net", Contact.FIRST),)
    named = Fence("x", recipients=frozenset({"@example.net"}))
    assert verdict(Preset.AUTONOMOUS, one, AGENT, named) is Verdict.ALLOW
    assert (
        verdict(Preset.AUTONOMOUS, one, AGENT, named, Fence("y", recipients=frozenset({"@*.example.net"})))
        is Verdict.DENY
    )


def test_the_reason_names_the_recipient_and_why() -> None:
    policy = Policy(presets=(Choice(Preset.AUTONOMOUS),), clients=frozenset({"hermes"}))
    plan = Plan(impacts=SEND, unfamiliar=(Unfamiliar("new@example.net", Contact.ONLY_RECEIVED),))
    assert "`new@example.net` is known from received mail only" in decide(policy, AGENT, plan, {}, NOW).why
