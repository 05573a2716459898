"""The owner at a terminal: `setup` asks, shows, lets one try again, and writes nothing before the last yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.cli.terminal import talk

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Bridge, Owner

pytestmark = pytest.mark.process


def test_setup_asks_for_everything_and_lets_one_try_again(owner: Owner, bridge: Bridge) -> None:
    """P-22, P-23, P-94."""
    cert = owner.file("cert.pem", bridge.simulator.certificate_pem)
    code, screen = talk(
        owner,
        ["setup", "--port", str(bridge.port)],
        [
            ("short name for the account [personal]", ""),
            ("Trust this certificate", "/nowhere/cert.pem"),
            ("Trust this certificate", str(cert)),
            ("Username", bridge.username),
            ("Place", "file"),
            ("not shown", "a-wrong-password"),
            ("not shown", bridge.password),
            ("Preset [assistant]", "boss"),
            ("Preset [assistant]", "autonomous"),
            ("Whom may agents write to?", "not an address"),
            ("Whom may agents write to?", "@example.com, anna@example.org"),
            ("Choose autonomous?", "yes"),
            ("A label for the agent", "hermes"),
            ("Write it?", "yes"),
        ],
    )
    assert code == 0, screen
    flat = " ".join(screen.split())
    octets = [bridge.fingerprint[7:][at : at + 2].upper() for at in range(0, 64, 2)]
    assert ":".join(octets[:16]) in screen
    assert "Export TLS certificates" in flat
    assert "not accepted" in flat
    assert "written by strangers" in flat
    assert "mcp_servers:" in screen
    assert bridge.password not in screen
    assert "a-wrong-password" not in screen
    written = owner.folders.policy_file.read_text()
    assert 'preset = "autonomous"' in written
    assert '"@example.com", "anna@example.org"' in written
    assert owner.json("accounts", "health")["accounts"][0]["connected"] is True


def test_a_no_at_the_end_writes_nothing(owner: Owner, bridge: Bridge) -> None:
    password = owner.file("password", bridge.password)
    words = ["setup", "personal", "--port", str(bridge.port), "--trust", bridge.fingerprint, "--username"]
    words += [bridge.username, "--password-file", str(password), "--secret", "keyring", "--preset", "reader"]
    code, screen = talk(owner, words, [("A label for the agent", ""), ("Write it?", "no")])
    assert code == 4
    assert "nothing was changed" in screen
    assert not owner.home.exists()


def test_doctor_offers_to_mend_a_reinstalled_bridge(owner: Owner, bridge: Bridge) -> None:
    """P-94: both fingerprints are shown, the owner says yes, only what changed is asked for."""
    owner.connect(bridge, password="the-old-password")
    trusted = "sha256:" + "ab" * 32
    owner.write_config(owner.folders.config_file.read_text().replace(bridge.fingerprint, trusted))
    code, screen = talk(
        owner,
        ["doctor"],
        [
            ("Mend account personal now?", "yes"),
            ("Trust this certificate", "yes"),
            ("not shown", bridge.password),
            ("Write it?", "yes"),
        ],
    )
    assert code == 0, screen
    assert "AB:AB:AB" in screen
    assert "installed anew" in " ".join(screen.split())
    assert bridge.fingerprint in owner.folders.config_file.read_text()
    assert owner.json("doctor")["well"] is True


def test_a_terminal_that_closes_is_no_answer(owner: Owner, bridge: Bridge) -> None:
    code, screen = talk(owner, ["setup", "--port", str(bridge.port)], [("short name", "\x04")])
    assert code == 4
    assert "no answer was given" in screen
    assert not owner.home.exists()
