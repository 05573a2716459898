"""`mcp-proton doctor`: one line a check, each with what to do, and exit 1 when something needs the owner (P-94, P-98)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.cli.lab import Bridge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

HEALTHY = [
    "config.toml",
    "permissions",
    "policy.toml",
    "store",
    "personal: password",
    "personal: server",
    "personal: certificate",
    "personal: login",
    "personal: version",
    "personal: sync",
    "personal: sending",
    "client hermes",
    "program",
]


def found(told: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {one["check"]: one for one in told["checks"]}


def test_all_is_well_in_a_healthy_world(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    told = owner.json("doctor")
    assert told["well"] is True
    assert list(found(told)) == HEALTHY
    assert {one["state"] for one in told["checks"]} == {"ok"}
    assert "3.21.1" in found(told)["personal: version"]["what"]


def test_for_a_pipe_it_prints_a_line_for_each_check(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    said = owner.run("doctor")
    assert said.code == 0
    lines = [line.split("\t") for line in said.out.splitlines()]
    assert [line[1] for line in lines[1:]] == HEALTHY


def test_a_reinstalled_bridge_is_named_as_such(owner: Owner, bridge: Bridge) -> None:
    """Another certificate: nothing is sent, both fingerprints are shown, the guided way to mend it is named."""
    owner.connect(bridge)
    trusted = "sha256:" + "ab" * 32
    owner.write_config(owner.folders.config_file.read_text().replace(bridge.fingerprint, trusted))
    assert owner.run("doctor", "personal").code == 1
    check = found(owner.json("doctor", "personal"))
    assert check["personal: server"]["state"] == "ok"
    assert trusted in check["personal: certificate"]["what"]
    assert bridge.fingerprint in check["personal: certificate"]["what"]
    assert "installed Bridge anew" in check["personal: certificate"]["next"]
    assert "mcp-proton setup personal" in check["personal: certificate"]["next"]
    assert check["personal: login"]["state"] == "skip"


def test_a_wrong_password_is_told_from_an_unreachable_server(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge, password="some-older-password")
    check = found(owner.json("doctor", "personal"))
    assert check["personal: certificate"]["state"] == "ok"
    assert check["personal: login"]["state"] == "fix"
    assert "signed in" in check["personal: login"]["next"]
    assert "mcp-proton setup personal" in check["personal: login"]["next"]


def test_a_way_out_that_does_not_work_is_named_and_reading_is_well(owner: Owner, bridge: Bridge) -> None:
    """P-98: the login for sending is tried, and nothing is sent."""
    owner.connect(bridge)
    owner.write_config(
        owner.folders.config_file.read_text().replace(
            "[accounts.personal]", "[accounts.personal]\nsmtp_host = 'localhost'"
        )
    )
    check = found(owner.json("doctor", "personal"))
    assert check["personal: login"]["state"] == "ok"
    assert check["personal: sending"]["state"] == "fix"
    assert "smtp_port" in check["personal: sending"]["next"]


def test_an_account_that_does_not_send_is_well(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    owner.write_config(
        owner.folders.config_file.read_text().replace("[accounts.personal]", "[accounts.personal]\nsending = false")
    )
    check = found(owner.json("doctor", "personal"))["personal: sending"]
    assert (check["state"], "switched off" in check["what"]) == ("ok", True)


def test_a_closed_port_says_to_start_bridge(owner: Owner) -> None:
    with Bridge() as gone:
        owner.connect(gone)
    check = found(owner.json("doctor", "personal"))
    assert check["personal: server"]["state"] == "fix"
    assert "start Proton Mail Bridge" in check["personal: server"]["next"]
    assert check["personal: login"]["state"] == "skip"


@pytest.mark.parametrize("place", ["config", "policy", "secrets", "state"])
def test_files_that_others_can_read_are_named_with_the_way_to_close_them(
    owner: Owner, bridge: Bridge, place: str
) -> None:
    owner.connect(bridge)
    path: Path = {
        "config": owner.folders.config_file,
        "policy": owner.folders.policy_file,
        "secrets": owner.folders.state / "secrets",
        "state": owner.folders.state,
    }[place]
    path.chmod(0o755 if path.is_dir() else 0o644)
    told = owner.json("doctor")
    wrong = [one for one in told["checks"] if one["state"] == "fix"]
    assert [one["check"] for one in wrong] == ["permissions"]
    assert f"chmod {'700' if path.is_dir() else '600'} {path}" in wrong[0]["next"]


def test_a_password_file_that_others_can_read_is_not_used(owner: Owner, bridge: Bridge) -> None:
    """P-94."""
    owner.connect(bridge)
    owner.keep_password(bridge.password).chmod(0o644)
    check = found(owner.json("doctor", "personal"))
    assert "open to others (mode 0644)" in check["personal: password"]["what"]
    assert check["personal: server"]["state"] == "skip"


def test_a_password_that_is_gone_says_how_to_store_it(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    owner.keep_password("x").unlink()
    check = found(owner.json("doctor", "personal"))
    assert check["personal: password"]["state"] == "fix"
    assert "mcp-proton setup personal" in check["personal: password"]["next"]


def test_a_broken_policy_tells_that_the_rules_before_it_hold(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    assert owner.run("policy", "show").code == 0
    owner.write_policy('preset = "assistent"\n')
    check = found(owner.json("doctor"))
    assert "policy.toml, line 1: preset" in check["policy.toml"]["what"]
    assert "the rules before your latest edit hold" in check["policy.toml"]["what"]
    assert check["client hermes"]["state"] == "ok"


def test_no_preset_means_no_access(owner: Owner, bridge: Bridge) -> None:
    """P-22."""
    owner.connect(bridge)
    owner.folders.policy_file.unlink()
    check = found(owner.json("doctor"))
    assert "agents may do nothing" in check["policy.toml"]["what"]
    assert check["client hermes"]["state"] == "fix"


def test_a_broken_configuration_names_line_and_key(owner: Owner) -> None:
    owner.write_config("[accounts.personal]\nkind = 'bridge'\nusername = 'a'\nsecret = 'hunter2'\n")
    told = owner.json("doctor")
    assert told["well"] is False
    text = str(told)
    assert "config.toml, line 4: accounts.personal.secret" in text
    assert "hunter2" not in text


def test_a_store_that_cannot_be_used_is_named(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    owner.folders.database.write_bytes(b"this is no database at all" * 200)
    owner.folders.database.chmod(0o600)
    check = found(owner.json("doctor"))
    assert check["store"]["state"] == "fix"
    assert "state folder" in check["store"]["next"]


def test_a_new_owner_is_sent_to_setup(owner: Owner) -> None:
    told = owner.json("doctor")
    assert told["well"] is False
    assert found(told)["config.toml"]["next"] == "run `mcp-proton setup`"


def test_an_account_that_is_not_there_is_no_check(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    said = owner.run("doctor", "persnal")
    assert said.code == 4
    assert "did you mean `personal`?" in said.err
