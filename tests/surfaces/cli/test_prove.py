"""`mcp-proton doctor --prove`: tries what this version of Bridge does to mail, with a message of its own (N-8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.cli.lab import Bridge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.cli.lab import Owner


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    """A Bridge of a version of which nothing was recorded, whose events come at once."""
    monkeypatch.setattr("mcp_proton.bridge.trying.canary.SETTLE", 0.3)
    with Bridge() as running:
        running.call(lambda simulator: setattr(simulator.settings, "version", "03.27.00"))
        running.call(lambda simulator: simulator._spawn(simulator._event_loop(0.05, 0.1)))
        yield running


def mail(bridge: Bridge) -> Any:
    account = bridge.simulator.account()
    return bridge.simulator.state(), sorted(account.label_path(one) for one in account.labels.values())


def checks(told: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {one["check"]: one for one in told["checks"]}


def test_the_doctor_says_what_was_never_seen_and_how_to_prove_it(owner: Owner, newer: Bridge) -> None:
    """N-8: and after the proof all is well."""
    owner.connect(newer)
    before = mail(newer)
    check = checks(owner.json("doctor", "personal"))["personal: version"]
    assert check["state"] == "note"
    assert "not verified here: exact_removal, flags, labels, move" in check["what"]
    assert "doctor personal --prove" in check["next"]
    told = owner.json("doctor", "personal", "--prove", "--yes")
    assert told["well"] is True
    verbs = {"create", "rename", "remove", "set_flags", "label", "unlabel", "move", "destroy"}
    assert {checks(told)[f"personal: {verb}"]["state"] for verb in verbs} == {"ok"}
    assert checks(told)["personal: version"]["state"] == "ok"
    assert mail(newer) == before
    assert checks(owner.json("doctor", "personal"))["personal: version"]["state"] == "ok"
    health = owner.json("do", "accounts_health", "--account", "personal")["accounts"][0]
    assert health["unproved"] == ["reattach", "append"]


def test_what_bridge_does_otherwise_needs_the_owner_and_is_refused_from_then_on(owner: Owner, newer: Bridge) -> None:
    """N-8: Deny at once, to every process."""
    owner.connect(newer)
    newer.call(lambda simulator: setattr(simulator.settings, "move_loses_place", True))
    said = owner.run("doctor", "personal", "--prove", "--yes")
    assert said.code == 1
    assert "after moving it is shown in" in said.out
    told = checks(owner.json("doctor", "personal"))
    assert "seen to do something else, so refused: move" in told["personal: version"]["what"]
    listed = owner.json("do", "messages_list", "--account", "personal")["messages"]
    refused = owner.json("do", "messages_archive", "--messages", listed[0]["handle"])
    assert refused["code"] == "unsupported_semantics"
    assert "does something else" in refused["why"]


def test_nothing_is_tried_without_the_owners_yes(owner: Owner, newer: Bridge) -> None:
    """N-8."""
    owner.connect(newer)
    before = mail(newer)
    said = owner.run("doctor", "personal", "--prove")
    assert said.code not in (0, 1)
    assert "--yes" in said.err
    assert mail(newer) == before


def test_an_account_that_is_not_on_bridge_has_nothing_to_prove(owner: Owner, newer: Bridge) -> None:
    """N-8."""
    owner.connect(newer)
    text = owner.folders.config_file.read_text()
    owner.write_config(
        text + '\n[accounts.work]\nkind = "imap"\nhost = "imap.example.org"\nusername = "me"\nsecret = "keyring"\n'
    )
    said = owner.run("doctor", "work", "--prove", "--yes")
    assert said.code not in (0, 1)
    assert "is not on Bridge" in said.err
