"""`policy` and `config`: what holds and why, what an edit would change, what is wrong and where (P-13, P-19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.effects import Effect

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Bridge, Owner


@pytest.fixture(autouse=True)
def _connected(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)


def verdicts(owner: Owner, *words: str) -> dict[str, tuple[str, str]]:
    return {one["effect"]: (one["verdict"], one["from"]) for one in owner.json("policy", "show", *words)["rules"]}


def test_every_effect_is_shown_with_its_source(owner: Owner) -> None:
    """P-13."""
    shown = verdicts(owner, "--client", "hermes", "--account", "personal")
    assert shown["read"] == ("allow", "preset assistant")
    assert shown["send"] == ("ask", "preset assistant")
    assert shown["administer"] == ("deny", "fixed")
    assert len(shown) == len(Effect)


def test_a_rule_is_explained_with_what_it_overrules(owner: Owner) -> None:
    owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "send"\nverdict = "deny"\nclient = "hermes"\n')
    told = owner.json("policy", "explain", "hermes", "send", "--account", "personal")
    assert (told["verdict"], told["source"]) == ("deny", "rule 1")
    assert [(one["part"], one["source"]) for one in told["rules"]] == [
        ("decides", "rule 1"),
        ("outranked", "preset assistant"),
    ]
    said = owner.run("policy", "explain", "hermes", "send")
    assert said.out.startswith("deny: ")


def test_a_preview_shows_what_would_change_and_changes_nothing(owner: Owner) -> None:
    draft = owner.file("new.toml", 'preset = "reader"\n')
    before = owner.folders.policy_file.read_text()
    changes = owner.json("policy", "preview", str(draft))["changes"]
    assert {"effect": "send", "verdict": "ask", "becomes": "deny"}.items() <= next(
        one for one in changes if one["effect"] == "send"
    ).items()
    assert owner.folders.policy_file.read_text() == before
    assert owner.run("policy", "preview", owner.folders.policy_file).out == "no verdict changes\n"


def test_a_preview_of_a_broken_file_names_the_line(owner: Owner) -> None:
    said = owner.run("policy", "preview", owner.file("new.toml", '# x\npreset = "admin"\n'))
    assert said.code == 2
    assert "new.toml, line 2: preset" in said.err


def test_a_preset_is_chosen_for_one_client(owner: Owner) -> None:
    assert owner.json("policy", "preset", "reader", "--client", "hermes")["preset"] == "reader"
    assert verdicts(owner, "--client", "hermes")["send"] == ("deny", "preset reader")


def test_a_preset_for_nobody_is_refused_and_nothing_is_written(owner: Owner) -> None:
    before = owner.folders.policy_file.read_text()
    said = owner.run("policy", "preset", "reader", "--client", "hermse")
    assert said.code == 2
    assert "is not one of the clients" in said.err
    assert owner.folders.policy_file.read_text() == before


def test_autonomous_needs_a_yes(owner: Owner) -> None:
    """P-23."""
    said = owner.run("policy", "preset", "autonomous")
    assert said.code == 2
    assert "--yes" in said.err
    assert "written by strangers" in " ".join(said.err.split())
    assert owner.run("policy", "preset", "autonomous", "--yes").code == 0


def test_an_edit_that_breaks_the_file_is_visible_and_the_rules_before_it_hold(owner: Owner) -> None:
    verdicts(owner)
    owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "sned"\nverdict = "deny"\n')
    said = owner.run("policy", "show")
    assert said.code == 1
    assert "policy.toml, line 3: rules[1].effect" in said.err
    assert verdicts(owner, "--client", "hermes")["send"] == ("ask", "preset assistant")


def test_files_that_are_right_are_said_to_be(owner: Owner) -> None:
    said = owner.run("config", "check")
    assert (said.code, said.out) == (0, "config.toml and policy.toml are right\n")
    assert owner.json("config", "check") == {"status": "ok"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "[accounts.personal]\nkind = 'bridge'\npassword = 'hunter2'\n",
            "config.toml, line 3: accounts.personal.password",
        ),
        ("[service]\nlogg = 'debug'\n", "did you mean `log`?"),
        ("[accounts.x\n", "config.toml, line 1: is not TOML"),
        ("[clients.hermes]\naccounts = ['work']\n", "config.toml, line 2: clients.hermes.accounts[1]"),
    ],
)
def test_a_complaint_names_file_line_and_key_and_no_value(owner: Owner, text: str, complaint: str) -> None:
    owner.write_config(text)
    said = owner.run("config", "check")
    assert said.code == 2
    assert complaint in said.out
    assert "hunter2" not in said.all
    told = owner.json("config", "check")
    assert (told["status"], told["code"]) == ("refused", "misconfigured")
    assert any(complaint in one for one in told["complaints"])


@pytest.mark.parametrize("command", [("accounts", "list"), ("do", "messages_list"), ("policy", "show"), ("setup",)])
def test_a_broken_configuration_is_a_sentence_in_every_command(owner: Owner, command: tuple[str, ...]) -> None:
    owner.write_config("[accounts.personal\n")
    said = owner.run(*command)
    assert said.code == 2
    assert said.err.startswith("mcp-proton: config.toml, line 1: is not TOML")
    assert "config check" in said.err


def test_a_file_others_can_write_is_not_believed(owner: Owner) -> None:
    owner.folders.config_file.chmod(0o666)
    said = owner.run("accounts", "list")
    assert said.code == 2
    assert "can be written by others" in said.err


def test_paths_are_printed(owner: Owner) -> None:
    assert owner.json("config", "paths")["policy"] == str(owner.folders.policy_file)
