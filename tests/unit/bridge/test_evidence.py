"""What is known of which Bridge version (P-09)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcp_proton.bridge.trying import evidence
from mcp_proton.bridge.trying.evidence import RECORDED, Version
from mcp_proton.domain.consequences import Evidence
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.findings import Finding
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Standing
from mcp_proton.imap import effect_tables
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


TABLE = effect_tables.load("mcp_proton.bridge")
NEWER = Version(3, 27, 0)
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def findings(*proved: str, **disproved: str) -> dict[str, Finding]:
    return {verb: Finding(verb, True, NOW) for verb in proved} | {
        verb: Finding(verb, False, NOW, why) for verb, why in disproved.items()
    }


def test_on_the_recorded_version_the_table_is_as_it_was_recorded() -> None:
    """P-09."""
    assert evidence.judged(TABLE, RECORDED, {}).rows == TABLE.rows
    assert evidence.judged(TABLE, RECORDED, findings(*evidence.TRIED)).rows == TABLE.rows


@pytest.mark.parametrize("version", [NEWER, None])
def test_on_any_other_version_no_change_is_proved_and_reading_is(version: Version | None) -> None:
    """P-09, N-8: unproved rows are what the door asks about."""
    for row in evidence.judged(TABLE, version, {}).rows:
        if row.verb in {verb for verbs in evidence.FAMILIES.values() for verb in verbs} and not row.refused:
            assert row.evidence == (Evidence.UNVERIFIED,), row
    table = evidence.judged(TABLE, version, {})
    assert table.of("search", Role.INBOX).evidence == (Evidence.RECORDED, Evidence.ENGINE)


def test_what_a_trial_proved_is_told_as_seen_live() -> None:
    """N-8: and what it cannot try, such as bringing an orphan back, stays unproved."""
    table = evidence.judged(TABLE, NEWER, findings(*evidence.TRIED))
    assert table.of("move", Role.INBOX, Role.TRASH).evidence == (Evidence.LIVE,)
    assert table.of("destroy", Role.TRASH).evidence == (Evidence.LIVE,)
    assert table.of("reattach", Role.ALL, Role.INBOX).evidence == (Evidence.UNVERIFIED,)
    assert evidence.features_of(NEWER, BRIDGE, findings(*evidence.TRIED))["move"] is Standing.AVAILABLE


def test_a_family_is_proved_when_all_of_it_that_is_tried_was() -> None:
    """N-8."""
    assert evidence.standings(NEWER, findings("label"))["labels"] is Standing.UNVERIFIED
    assert evidence.standings(NEWER, findings("label", "unlabel"))["labels"] is Standing.AVAILABLE


@pytest.mark.parametrize("version", [RECORDED, NEWER, None])
def test_what_a_trial_disproved_is_refused_with_its_whole_family_on_any_version(version: Version | None) -> None:
    """N-8: falls to Deny, whatever was recorded; other families are as they were."""
    found = findings("move", unlabel="it is in no place")
    table = evidence.judged(TABLE, version, found)
    for verb, source, target in (("label", Role.INBOX, Role.LABEL), ("unlabel", Role.LABEL, None)):
        with pytest.raises(Unsupported, match="it is in no place"):
            table.of(verb, source, target)
    assert table.of("move", Role.INBOX, Role.ARCHIVE).effects
    assert evidence.features_of(version, BRIDGE, found)["labels"] is Standing.UNAVAILABLE


def test_findings_that_cannot_be_read_prove_nothing_even_of_the_recorded_version() -> None:
    """N-8: in doubt the owner is asked."""
    assert set(evidence.standings(RECORDED, None).values()) == {Standing.UNVERIFIED}
