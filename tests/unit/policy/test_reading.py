"""The owner's policy document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.effects import Effect
from mcp_proton.policy import reading
from mcp_proton.policy.boundaries import Rate
from mcp_proton.policy.decide import decide
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import GRANTABLE, Place, Verdict
from mcp_proton.storage.access.tomllines import Lines, parse

from .worlds import NOW, agent, one

READER = reading.PolicyReader(Path("/home/me"), clients=["hermes"], accounts=["personal", "work"])


def read(text):
    document = parse(text, "policy.toml")
    try:
        return READER.read(document)
    except Misconfigured as error:
        raise error.located("policy.toml", Lines(text).of) from None


def example():
    """The example of the module's docstring, which must be right."""
    return "\n".join(line.removeprefix("    ") for line in reading.__doc__.split("\n\n", 1)[1].splitlines())


def test_the_documented_example_is_a_policy():
    policy = read(example())
    assert policy.presets == (
        Choice(Preset.ASSISTANT),
        Choice(Preset.READER, client="hermes"),
        Choice(Preset.READER, account="work"),
    )
    rule = policy.rules[0]
    assert (rule.verdict, rule.effects, rule.client, rule.account) == (Verdict.DENY, {Effect.SEND}, "hermes", "work")
    assert rule.place == Place("Folders/Taxes")
    assert rule.until == datetime(2026, 12, 24, 18, tzinfo=UTC)
    assert rule.source == "rule 1"
    everywhere, hermes = policy.fences
    assert everywhere.folders == {Effect.EXPORT: (Path("/home/me/Mail"),)}
    assert everywhere.recipients == {"anna@example.org", "@example.com", "@*.example.net"}
    assert set(everywhere.rates) == {Rate(Effect.SEND, 20, 3600), Rate(Effect.DESTROY, 100, 86_400)}
    assert (hermes.client, hermes.max_batch, hermes.source) == ("hermes", 10, "`clients.hermes.boundaries`")
    assert policy.custom == {Effect.SEND: Verdict.DENY}
    assert policy.approval_lifetime == timedelta(minutes=15)


def test_an_empty_document_allows_nothing():
    """P-22."""
    assert decide(read(""), agent(), one(Effect.LIST), {}, NOW).refusal().code == "not_onboarded"


def test_a_star_speaks_of_every_effect_but_the_owners_own():
    policy = read('[[rules]]\neffect = "*"\nverdict = "ask"\n')
    assert policy.rules[0].effects == GRANTABLE
    assert Effect.ADMINISTER not in GRANTABLE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('preset = "asistant"', "line 1: preset: must be one of reader, assistant, autonomous"),
        ("\napproval_minutes = 0", "line 2: approval_minutes: must be at least 1"),
        ("approval_minutes = true", "line 1: approval_minutes: must be a whole number"),
        ('[custom]\nsned = "ask"', "line 2: custom.sned: must be one of"),
        ('[custom]\nsend = "yes"', "line 2: custom.send: must be allow, ask or deny"),
        ('[[rules]]\nverdict = "ask"', "line 1: rules[1].effect: is missing"),
        ('[[rules]]\neffect = "sent"\nverdict = "ask"', "line 2: rules[1].effect: must be one of"),
        ('[[rules]]\neffect = []\nverdict = "ask"', "line 2: rules[1].effect: must be an effect"),
        ('[[rules]]\neffect = 3\nverdict = "ask"', "line 2: rules[1].effect: must be an effect"),
        ('[[rules]]\neffect = "administer"\nverdict = "allow"', "line 2: rules[1].effect: the rules themselves"),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\nclint = "x"',
            "line 4: rules[1].clint: is not a key here; did you",
        ),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\n[[rules]]\neffect = "send"\nverdict = "aks"',
            "line 6: rules[2].verdict: must be allow, ask or deny",
        ),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\nclient = "hermse"',
            "line 4: rules[1].client: is not one of the clients in config.toml; did",
        ),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\naccount = "wrok"',
            "line 4: rules[1].account: is not one of the accounts",
        ),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\nmailbox = "Fold*"',
            "line 4: rules[1].mailbox: must be a role word",
        ),
        ('[[rules]]\neffect = "send"\nverdict = "ask"\nmailbox = "*"', "line 4: rules[1].mailbox: must be a role word"),
        ('[[rules]]\neffect = "send"\nverdict = "ask"\nmailbox = ""', "line 4: rules[1].mailbox: must be a role word"),
        (
            '[[rules]]\neffect = "send"\nverdict = "ask"\nuntil = 2026-01-01T00:00:00',
            "line 4: rules[1].until: must say",
        ),
        (
            '[boundaries]\nrecipients = [\n"a@b.example",\n"anna"]',
            "line 4: boundaries.recipients[2]: must be an address",
        ),
        ('[boundaries]\nfetch_hosts = ["10.0.0.1"]', "line 2: boundaries.fetch_hosts[1]: must be a host"),
        ('[boundaries]\nfetch_hosts = ["https://a.example/"]', "line 2: boundaries.fetch_hosts[1]: must be a host"),
        ('[boundaries]\nrecipients = ["x@*.example.org"]', "line 2: boundaries.recipients[1]: must be an address"),
        (
            '[boundaries]\nexport_directories = ["Mail"]',
            "line 2: boundaries.export_directories[1]: must be an absolute path",
        ),
        ("[boundaries]\nmax_batch = -1", "line 2: boundaries.max_batch: must be at least 0"),
        ('[boundaries.rates]\nsend = "20 per hour"', 'line 2: boundaries.rates.send: must be like "20/hour"'),
        ('[boundaries]\naccounts = ["x"]', "line 2: boundaries.accounts[1]: is not one of the accounts"),
        ('[clients.hermse]\npreset = "reader"', "line 1: clients.hermse: is not one of the clients"),
        (
            "[clients.hermes]\nboundaries = { max_btach = 1 }",
            "line 2: clients.hermes.boundaries.max_btach: is not a key here; did you",
        ),
        ('rules = "x"', "line 1: rules: must be a list"),
        ("preset = ", "line 1: is not TOML"),
    ],
)
def test_every_complaint_names_file_line_and_key(text, told):
    with pytest.raises(Misconfigured) as caught:
        read(text)
    assert any(str(one).startswith(f"policy.toml, {told}") for one in caught.value.complaints), str(caught.value)


def test_folders_follow_links_before_they_are_compared():
    reader = reading.PolicyReader(Path("/home/me"), resolve=lambda path: Path("/real") / path.name)
    policy = reader.read({"boundaries": {"export_directories": ["~/Mail"]}})
    assert policy.fences[0].folders == {Effect.EXPORT: (Path("/real/Mail"),)}
