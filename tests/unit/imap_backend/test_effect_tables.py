"""What verbs do, as data with evidence (P-20), and what a server can do by what it advertises (P-65)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.consequences import Evidence
from mcp_proton.domain.effects import CHANGING, READING, Effect
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Standing
from mcp_proton.imap import effect_tables, features

PACKAGES = ("mcp_proton.imap", "mcp_proton.bridge", "mcp_proton.jmap")
READS = ("mailboxes", "search", "envelopes", "structure", "headers", "fetch")


@pytest.mark.parametrize("package", PACKAGES)
def test_reading_has_no_other_effect_anywhere(package: str) -> None:
    table = effect_tables.load(package)
    for verb in READS:
        for role in Role:
            assert table.of(verb, role).effects <= READING


@pytest.mark.parametrize("package", PACKAGES)
def test_flags_organise_where_there_is_mail_and_are_unknown_elsewhere(package: str) -> None:
    table = effect_tables.load(package)
    assert table.of("set_flags", Role.INBOX).effects == {Effect.ORGANIZE}
    for role in (Role.NODE, Role.SCHEDULED, Role.RECOVERED):
        with pytest.raises(Unsupported):
            table.of("set_flags", role)


@pytest.mark.parametrize(
    ("package", "evidence"), [(PACKAGES[0], (Evidence.STANDARD,)), (PACKAGES[1], (Evidence.RECORDED, Evidence.ENGINE))]
)
def test_every_row_says_how_it_is_known(package: str, evidence: tuple[Evidence, ...]) -> None:
    rows = effect_tables.load(package).rows
    assert {row.evidence for row in rows if row.verb in READS} == {evidence}
    known = {evidence, (Evidence.RECORDED,), (Evidence.UNVERIFIED,), (Evidence.SOURCE,)}
    assert {row.evidence for row in rows} <= known
    assert effect_tables.load(package).rows[0].known_by == ", ".join(evidence)


def test_what_changes_mail_on_jmap_was_seen_on_a_server() -> None:
    """The contract suite on Cyrus does each of them. Cyrus answers nobody by itself and makes no identities."""
    rows = [row for row in effect_tables.load(PACKAGES[2]).rows if not row.refused and not row.effects <= READING]
    assert {row.evidence for row in rows if row.effects & CHANGING} == {(Evidence.STANDARD, Evidence.SERVER)}
    assert {row.verb for row in rows if not row.effects & CHANGING} == {"set_vacation", "create_identity"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_verb_without_a_row_is_not_supported(package: str) -> None:
    with pytest.raises(Unsupported):
        effect_tables.load(package).of("shred", Role.TRASH)


def test_features_follow_what_is_advertised() -> None:
    bare = features.of_standard(frozenset({"IMAP4REV1"}))
    rich = features.of_standard(frozenset({"IMAP4REV1", "IDLE", "MOVE", "UIDPLUS", "LIST-STATUS"}))
    for word in ("idle", "move", "exact_removal", "counts_in_list"):
        assert (bare[word], rich[word]) == (Standing.UNAVAILABLE, Standing.AVAILABLE)
    assert bare["labels"] is rich["labels"] is Standing.UNAVAILABLE
    assert set(features.of_standard(None).values()) == {Standing.UNVERIFIED}
    assert set(bare) == set(rich) == set(features.WORDS)
