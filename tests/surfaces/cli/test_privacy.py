"""What the owner's commands print, log and keep beside the answers: never a password, an address or a subject (P-94, P-98)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.cli.lab import CANARY, Bridge

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

METADATA_ONLY = [
    ("doctor",),
    ("doctor", "--json"),
    ("accounts", "list"),
    ("accounts", "health"),
    ("accounts", "health", "--json"),
    ("accounts", "capabilities"),
    ("activity",),
    ("activity", "--json"),
    ("approvals", "list", "--json"),
    ("clients", "list", "--json"),
    ("clients", "config", "hermes"),
    ("policy", "show", "--json"),
    ("config", "check"),
    ("config", "paths"),
]


def test_metadata_stays_metadata(owner: Owner, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Bridge() as bridge:
        owner.connect(bridge)
        bridge.deliver(CANARY)
        assert CANARY in str(owner.json("do", "messages_list", "--limit", "3"))
        assert CANARY in str(owner.json("do", "messages_search", f"subject:{CANARY}"))
        for words in METADATA_ONLY:
            said = owner.run(*words)
            assert said.code == 0, words
            for secret in (bridge.password, CANARY, bridge.username, "anna@canary.example"):
                assert secret not in said.all, words
        for secret in (bridge.password, CANARY, bridge.username):
            assert secret not in caplog.text
        kept = owner.folders.database.read_bytes()
        for secret in (bridge.password, CANARY, "anna@canary.example"):
            assert secret.encode() not in kept


def test_a_refused_password_is_in_no_output_and_no_log(
    owner: Owner, bridge: Bridge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    owner.connect(bridge, password="canary-password-8t")
    for words in (("doctor", "personal"), ("accounts", "health"), ("do", "mailboxes_list"), ("setup", "personal")):
        said = owner.run(*words)
        assert said.code != 0
        assert "canary-password-8t" not in said.all + caplog.text
        assert "no such user" not in said.all, "the server's own words stay out"
