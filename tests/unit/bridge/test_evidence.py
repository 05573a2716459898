"""What is known of which Bridge version (P-09)."""

from __future__ import annotations

import pytest

from mcp_proton.bridge import evidence
from mcp_proton.bridge.evidence import RECORDED, Version
from mcp_proton.domain.ports import Standing
from mcp_proton.imap.features import WORDS

BRIDGE = frozenset({"IMAP4REV1", "IDLE", "MOVE", "UIDPLUS"})


def test_the_version_is_read_from_the_greeting() -> None:
    greeting = "Proton Mail Bridge 03.21.01 - gluon session ID 7"
    assert evidence.version_in(greeting) == RECORDED
    assert str(RECORDED) == "3.21.1"


@pytest.mark.parametrize("greeting", ["", "Dovecot ready.", "Proton Mail Bridge", "Proton Mail Bridge 3.21"])
def test_another_greeting_names_no_version(greeting: str) -> None:
    assert evidence.version_in(greeting) is None


def test_writes_are_available_only_with_the_recorded_version() -> None:
    recorded = evidence.features_of(RECORDED, BRIDGE)
    newer = evidence.features_of(Version(3, 27, 0), BRIDGE)
    assert recorded["labels"] is Standing.AVAILABLE
    assert newer["labels"] is Standing.UNVERIFIED
    assert recorded["search"] is newer["search"] is Standing.AVAILABLE
    assert recorded["append_dates"] is newer["append_dates"] is Standing.UNAVAILABLE


def test_idle_counts_only_when_advertised() -> None:
    """B-01: it can be switched off remotely."""
    assert evidence.features_of(RECORDED, BRIDGE - {"IDLE"})["idle"] is Standing.UNAVAILABLE


def test_before_the_first_connection_all_is_unverified() -> None:
    assert set(evidence.features_of(None, None).values()) == {Standing.UNVERIFIED}
    assert set(evidence.features_of(RECORDED, BRIDGE)) == set(WORDS)


def test_what_expunge_does_is_open_in_3_23_and_in_the_unknown() -> None:
    assert evidence.expunge_unverified(Version(3, 23, 4))
    assert evidence.expunge_unverified(None)
    assert not evidence.expunge_unverified(RECORDED)
    assert not evidence.expunge_unverified(Version(3, 24, 0))
