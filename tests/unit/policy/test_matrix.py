"""Showing, explaining and previewing the rules (P-13)."""

from __future__ import annotations

from dataclasses import replace

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.limits import Switches
from mcp_proton.domain.plan import Scope
from mcp_proton.policy.boundaries import Fence
from mcp_proton.policy.matrix import cell, changes, explain, loosest, matrix
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import Verdict

from .worlds import NOW, agent, assistant, rule

PERSONAL = Scope("personal")


def test_every_cell_of_the_matrix_names_its_source():
    policy = assistant(rule(Verdict.DENY, Effect.SEND, client="hermes", source="rule 1"))
    found = {(c.client, c.effect): (c.verdict, c.source) for c in matrix(policy, ["hermes", "goose"], [PERSONAL], NOW)}
    assert found["hermes", Effect.SEND] == (Verdict.DENY, "rule 1")
    assert found["goose", Effect.SEND] == (Verdict.ASK, "preset assistant")
    assert found["goose", Effect.ADMINISTER] == (Verdict.DENY, "fixed")
    assert len(found) == 2 * len(Effect)


def test_a_paused_client_shows_as_paused_everywhere():
    policy = assistant().with_switches(Switches(paused_clients=frozenset({"hermes"})))
    assert {c.source for c in matrix(policy, ["hermes"], [PERSONAL], NOW)} == {"paused"}


def test_an_explanation_shows_who_decided_and_who_was_outranked():
    policy = assistant(
        rule(Verdict.ALLOW, Effect.READ, source="rule 1"),
        rule(Verdict.DENY, Effect.READ, place="Folders/*", source="rule 2"),
        rule(Verdict.ASK, Effect.READ, client="hermes", source="rule 3"),
        fences=(Fence("`boundaries`", max_batch=3), Fence("goose's", client="goose", max_batch=1)),
    )
    found = explain(policy, "hermes", Effect.READ, Scope("personal", "Folders/Taxes"), NOW)
    assert found.cell.verdict is Verdict.DENY
    assert {voice.rule.source: voice.part for voice in found.voices} == {
        "rule 2": "decides",
        "rule 3": "overruled",
        "rule 1": "outranked",
        "preset assistant": "outranked",
    }
    assert found.voices[0].rule.source == "rule 2"
    assert [fence.source for fence in found.fences] == ["`boundaries`"]


def test_an_explanation_of_a_case_without_a_mailbox_names_the_mailbox_rule_that_decided():
    policy = assistant(rule(Verdict.DENY, Effect.READ, place="Folders/*", source="rule 1"))
    found = explain(policy, "hermes", Effect.READ, PERSONAL, NOW)
    assert (found.cell.verdict, found.voices[0].rule.source) == (Verdict.DENY, "rule 1")


def test_a_preview_shows_exactly_what_an_edit_would_change():
    before = assistant()
    after = replace(before, presets=(Choice(Preset.READER),))
    found = {
        was.effect: (was.verdict, becomes.verdict)
        for was, becomes in changes(before, after, ["hermes"], [PERSONAL], NOW)
    }
    assert found[Effect.SEND] == (Verdict.ASK, Verdict.DENY)
    assert found[Effect.ORGANIZE] == (Verdict.ALLOW, Verdict.DENY)
    assert Effect.READ not in found


def test_a_tool_is_hidden_only_when_every_way_to_use_it_is_denied():
    denied = assistant(rule(Verdict.DENY, Effect.SEND))
    partly = assistant(rule(Verdict.DENY, Effect.READ), rule(Verdict.ALLOW, Effect.READ, place="inbox"))
    assert loosest(denied, agent(), Effect.SEND, NOW) is Verdict.DENY
    assert loosest(partly, agent(), Effect.READ, NOW) is Verdict.ALLOW
    assert loosest(partly, agent(accounts=frozenset()), Effect.READ, NOW) is Verdict.DENY
    assert loosest(replace(denied, presets=()), agent(), Effect.READ, NOW) is Verdict.DENY


def test_a_cell_for_a_mailbox_differs_from_the_one_for_its_account():
    policy = assistant(rule(Verdict.ASK, Effect.LIST, place="Folders/Taxes"))
    assert cell(policy, "hermes", Effect.LIST, PERSONAL, NOW).verdict is Verdict.ALLOW
    assert cell(policy, "hermes", Effect.LIST, Scope("personal", "Folders/Taxes"), NOW).verdict is Verdict.ASK
