"""`mcp-proton setup` without a terminal: every answer is a flag, nothing is written before the login worked."""

from __future__ import annotations

import io
import json
import stat
from typing import TYPE_CHECKING

import pytest

from mcp_proton.bridge import settings
from tests.surfaces.cli.lab import Bridge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

CANARY = "canary-password-9x2"


def flags(bridge: Bridge, password: Path, **others: str) -> list[str]:
    given = {
        "port": str(bridge.port),
        "username": bridge.username,
        "password-file": str(password),
        "trust": bridge.fingerprint,
        "preset": "assistant",
        "client": "hermes",
        **others,
    }
    return [word for name, value in given.items() for word in (f"--{name}", value)]


@pytest.fixture
def password(owner: Owner, bridge: Bridge) -> Path:
    return owner.file("password", bridge.password + "\n")


def test_setup_connects_an_account_and_lets_an_agent_in(owner: Owner, bridge: Bridge, password: Path) -> None:
    """P-22, P-94: a preset is chosen, the certificate is pinned, the password is in a private file and nowhere else."""
    told = owner.json("setup", *flags(bridge, password))
    assert told["status"] == "ok"
    assert (told["account"], told["preset"], told["client"]) == ("personal", "assistant", "hermes")
    assert told["certificate"] == bridge.fingerprint
    assert "mcp_servers:" in told["configuration"]

    secret = owner.folders.state / "secrets" / "personal"
    assert secret.read_text() == bridge.password + "\n"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    written = owner.folders.config_file.read_text() + owner.folders.policy_file.read_text()
    assert bridge.password not in written
    assert owner.json("do", "mailboxes_overview", "--limit", "3")["total"] > 0
    assert owner.json("accounts", "health")["accounts"][0]["connected"] is True


def test_the_configuration_it_prints_starts_us_for_that_client(owner: Owner, bridge: Bridge, password: Path) -> None:
    told = owner.json("setup", *flags(bridge, password, program="claude-desktop"))
    entry = json.loads(told["configuration"])["mcpServers"]["mail"]
    assert entry["args"] == ["mcp", "--client", "hermes"]
    assert entry["env"] == {"MCP_PROTON_HOME": str(owner.home)}


def test_a_password_can_come_by_standard_input(
    owner: Owner, bridge: Bridge, monkeypatch: pytest.MonkeyPatch, password: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(bridge.password + "\n"))
    told = owner.run("setup", *flags(bridge, password, **{"password-file": "-"}))
    assert told.code == 0, told.err


def test_a_password_can_stay_in_a_variable_or_a_file_of_the_owners(
    owner: Owner, bridge: Bridge, monkeypatch: pytest.MonkeyPatch, password: Path
) -> None:
    """P-94: the place is the owner's choice, and only the place is written down."""
    monkeypatch.setenv("BRIDGE_PASSWORD", bridge.password)
    given = flags(bridge, password, secret="env:BRIDGE_PASSWORD")
    at = given.index("--password-file")
    told = owner.run("setup", *given[:at], *given[at + 2 :])
    assert told.code == 0, told.err
    assert 'secret = "env:BRIDGE_PASSWORD"' in owner.folders.config_file.read_text()
    assert not (owner.folders.state / "secrets").exists()
    told = owner.run("setup", "personal", "--secret", f"file:{password}")
    assert told.code == 0, told.err
    assert f'secret = "file:{password}"' in owner.folders.config_file.read_text()


def test_without_a_terminal_every_missing_answer_is_named_at_once(owner: Owner) -> None:
    said = owner.run("setup")
    assert said.code == 2
    for flag in ("--username", "--password-file", "--trust", "--preset"):
        assert flag in said.err
    said = owner.run("setup", "--kind", "imap", "--preset", "autonomous")
    assert said.code == 2
    assert "--host" in said.err
    assert "--yes" in said.err
    assert "--trust" not in said.err


@pytest.mark.parametrize(
    ("flag", "value", "complaint"),
    [
        ("--trust", "sha256:" + "ab" * 32, "nothing was sent"),
        ("--trust", "/nowhere/cert.pem", "neither a fingerprint"),
        ("--client", "owner", "owner's own name"),
        ("--secret", "hunter2", "never the password itself"),
        ("--recipients", "nobody", "must be an address"),
        ("--host", "a b", "must be a host name"),
        ("--port", "1", "no Proton Mail Bridge answers"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    owner: Owner, bridge: Bridge, password: Path, flag: str, value: str, complaint: str
) -> None:
    said = owner.run("setup", *flags(bridge, password, **{flag.removeprefix("--"): value}))
    assert said.code in (2, 5)
    assert complaint in said.err
    assert "hunter2" not in said.all
    assert not owner.home.exists()


def test_a_wrong_password_leaves_everything_as_it_was(owner: Owner, bridge: Bridge) -> None:
    said = owner.run("setup", *flags(bridge, owner.file("wrong", CANARY)))
    assert said.code == 5
    assert "refused the login" in said.err
    assert "Mailbox details" in said.err
    assert CANARY not in said.all
    assert not owner.home.exists()


def test_a_name_that_no_account_can_have_is_refused(owner: Owner, bridge: Bridge, password: Path) -> None:
    said = owner.run("setup", "My Mail", *flags(bridge, password))
    assert said.code == 2
    assert "lower-case letter" in said.err


def test_no_bridge_says_what_to_do(
    owner: Owner, bridge: Bridge, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "IMAP_PORTS", range(1, 3))
    given = flags(bridge, password)
    at = given.index("--port")
    said = owner.run("setup", *given[:at], *given[at + 2 :])
    assert said.code == 5
    assert "start Bridge" in said.err


def test_bridge_is_found_on_its_ports(
    owner: Owner, bridge: Bridge, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "IMAP_PORTS", range(bridge.port - 1, bridge.port + 2))
    given = flags(bridge, password)
    at = given.index("--port")
    told = owner.json("setup", *given[:at], *given[at + 2 :])
    assert told["imap_port"] == bridge.port
    assert told["version"] == "3.21.1"


def test_the_certificate_bridge_exports_can_be_given_as_a_file(owner: Owner, bridge: Bridge, password: Path) -> None:
    cert = owner.file("cert.pem", bridge.simulator.certificate_pem)
    assert owner.json("setup", *flags(bridge, password, trust=str(cert)))["certificate"] == bridge.fingerprint


def test_autonomous_says_what_it_risks_and_takes_a_limit(owner: Owner, bridge: Bridge, password: Path) -> None:
    """P-23."""
    given = flags(bridge, password, preset="autonomous", recipients="@example.com")
    assert "--yes" in owner.run("setup", *given).err
    assert not owner.home.exists()
    said = owner.run("setup", *given, "--recipients", "anna@example.org", "--yes")
    assert said.code == 0, said.err
    assert "written by strangers" in " ".join(said.err.split())
    written = owner.folders.policy_file.read_text()
    assert 'preset = "autonomous"' in written
    assert "@example.com" in written
    assert "anna@example.org" in written


def test_a_second_account_can_have_a_preset_of_its_own(owner: Owner, bridge: Bridge, password: Path) -> None:
    """P-13."""
    owner.run("setup", *flags(bridge, password))
    said = owner.run("setup", "work", *flags(bridge, password, preset="reader"))
    assert said.code == 0, said.err
    rows = owner.json("policy", "show", "--client", "hermes")["rules"]
    sending = {row["account"]: (row["verdict"], row["from"]) for row in rows if row["effect"] == "send"}
    assert sending == {"personal": ("ask", "preset assistant"), "work": ("deny", "preset reader")}


def test_an_account_is_named_where_several_could_be_meant(owner: Owner, bridge: Bridge, password: Path) -> None:
    owner.run("setup", *flags(bridge, password))
    owner.run("setup", "work", *flags(bridge, password))
    said = owner.run("setup", "--trust", bridge.fingerprint)
    assert said.code == 2
    assert "ACCOUNT" in said.err


def test_setup_again_asks_for_nothing_and_keeps_the_rest(owner: Owner, bridge: Bridge, password: Path) -> None:
    owner.run("setup", *flags(bridge, password))
    before = owner.folders.config_file.read_text()
    said = owner.run("setup", "personal")
    assert said.code == 0, said.err
    assert owner.folders.config_file.read_text() == before


def test_a_reinstalled_bridge_is_mended_by_setup(owner: Owner) -> None:
    """P-94: another certificate is never taken silently; with the new one and the new password it works again."""
    with Bridge(seed=1) as old:
        port = old.port
        owner.connect(old)
        before = old.fingerprint
    with Bridge(seed=2, port=port) as new:
        assert new.password != owner.keep_password("old-password").read_text()
        said = owner.run("setup", "personal")
        assert said.code == 2
        assert "--trust" in said.err
        assert before in owner.folders.config_file.read_text()
        said = owner.run("setup", "personal", "--trust", new.fingerprint)
        assert said.code == 5, "the certificate alone does not do: the password is another one too"
        assert before in owner.folders.config_file.read_text()
        file = owner.file("new-password", new.password)
        said = owner.run("setup", "personal", "--trust", new.fingerprint, "--password-file", file)
        assert said.code == 0, said.err
        assert owner.json("accounts", "health")["accounts"][0]["connected"] is True


def test_any_imap_server_can_be_connected(owner: Owner, bridge: Bridge, password: Path) -> None:
    """Its own certificate is vouched for by nobody, so it has to be named; without that nothing is sent."""
    given = flags(bridge, password, kind="imap", host="127.0.0.1", security="starttls")
    at = given.index("--trust")
    said = owner.run("setup", *given[:at], *given[at + 2 :])
    assert said.code == 2
    assert "--trust" in said.err
    told = owner.json("setup", *given)
    assert told["kind"] == "imap"
    assert owner.json("accounts", "health")["accounts"][0]["connected"] is True


def test_a_broken_policy_is_mended_before_anything_is_added(owner: Owner, bridge: Bridge, password: Path) -> None:
    owner.write_policy('preset = "resder"\n')
    said = owner.run("setup", *flags(bridge, password))
    assert said.code == 2
    assert "policy.toml, line 1: preset" in said.err
    assert not owner.folders.config_file.exists()


def test_comments_of_the_owner_survive(owner: Owner, bridge: Bridge, password: Path) -> None:
    owner.write_config("# mine\n[service]\nlog = 'warning'  # quiet\n")
    assert owner.run("setup", *flags(bridge, password)).code == 0
    written = owner.folders.config_file.read_text()
    assert "# mine" in written
    assert "# quiet" in written
