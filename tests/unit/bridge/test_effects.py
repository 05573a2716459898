"""Bridge's effect table against what was measured: no row promises what was not seen, and no known loss is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mcp_proton.domain.consequences import Consequence, End, Evidence
from mcp_proton.domain.effects import DESTRUCTIVE, READING, Effect
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.imap import effect_tables
from tests.simulator import effect_table as measured

TABLE = effect_tables.load("mcp_proton.bridge")
RECORDINGS = {path.stem for path in (Path(__file__).parents[2] / "simulator" / "recordings").glob("*.yaml")}
NAMES = {
    Role.INBOX: "INBOX", Role.SENT: "Sent", Role.DRAFTS: "Drafts", Role.TRASH: "Trash", Role.SPAM: "Spam",
    Role.ARCHIVE: "Archive", Role.FOLDER: "folder", Role.LABEL: "label", Role.STARRED: "Starred", Role.ALL: "All Mail",
    Role.SCHEDULED: "Scheduled", Role.RECOVERED: "Recovered Messages", Role.NODE: "Folders or Labels itself",
}  # fmt: skip
KINDS = {Role.INBOX: ("received", "both"), Role.SENT: ("sent",), Role.DRAFTS: ("draft",)}
HOMES = {"received": "INBOX", "both": "INBOX", "sent": "Sent", "draft": "Drafts"}
PLACES = frozenset({Role.INBOX, Role.SENT, Role.DRAFTS, Role.TRASH, Role.SPAM, Role.ARCHIVE, Role.FOLDER})
Outcome = Mapping[str, object]


def seen(section: str, **columns: str) -> list[Outcome]:
    """The measured outcomes of every case with these columns (in `columns` an underscore is a blank), whatever the rest."""
    wanted = {name.replace("_", " "): value for name, value in columns.items()}
    part = measured.table()[section]
    found = {}
    for row in part["rows"]:
        overlap = all(measured._fits(row.get(name), value) for name, value in wanted.items())
        rest = {name: row.get(name) for name in part["values"] if name not in wanted}
        if overlap and _can_be(rest, wanted):
            found[row["outcome"]] = part["outcomes"][row["outcome"]]
    assert found, (section, wanted)
    return list(found.values())


def _can_be(rest: Mapping[str, object], wanted: Mapping[str, str]) -> bool:
    return not (rest.get("api") == "stock" and "api" not in wanted)


def moves(row: Consequence) -> Iterator[tuple[str, list[Outcome]]]:
    """What the MOVE we send for a row was seen to do: of each kind, from the message's own place."""
    assert row.source is not None
    assert row.target is not None
    sources = PLACES if row.source not in PLACES else {row.source}
    for source in sources - ({row.target} - {Role.FOLDER}):
        for kind in KINDS.get(source, ("received", "sent", "draft")):
            target = HOMES[kind] if row.end is End.HOME else NAMES[row.target]
            if target == NAMES[source] != "folder":
                continue
            where = {
                "from": NAMES[source],
                "to": target,
                "already in to": "no",
                "place before": "(from)",
                "flavour": kind,
            }
            yield kind, seen("move", **where)


ROWS = [row for row in TABLE.rows if not row.refused]
REFUSED = [row for row in TABLE.rows if row.refused]


def named(row: Consequence) -> str:
    return f"{row.verb}-{row.source or 'any'}-{row.target or 'any'}-{row.end}"


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.verb == "move" and row.end in {End.MOVED, End.HOME}], ids=named
)
def test_a_move_ends_where_its_row_says_and_costs_neither_star_nor_label(row: Consequence) -> None:
    """P-20, P-55."""
    counted = 0
    for kind, outcomes in moves(row):
        for outcome in outcomes:
            assert outcome["place"] in ({"to", "home"} if row.end is End.HOME else {"to"}), (kind, outcome)
            assert outcome["labels"] == []
            assert outcome["star"] == "same"
            assert str(outcome["reply"]).startswith("OK")
            counted += 1
    assert counted


@pytest.mark.parametrize("row", [row for row in ROWS if row.verb == "label" and row.end is End.LABELLED], ids=named)
def test_a_label_is_added_and_nothing_else_changes(row: Consequence) -> None:
    """P-57."""
    assert row.source is not None
    for outcome in seen("copy", **{"from": NAMES[row.source], "to": "label", "already in to": "no"}):
        assert (outcome["place"], outcome["labels"], outcome["star"]) == ("unchanged", ["+to"], "same")


def test_a_label_is_taken_off_and_nothing_else_changes() -> None:
    """P-57."""
    where = {"verb": "UID EXPUNGE", "from": "label", "marked Deleted by": "this session"}
    for outcome in seen("expunge", **where):
        assert (outcome["place"], outcome["labels"], outcome["star"]) == ("unchanged", ["-from"], "same")


@pytest.mark.parametrize(("role", "kinds"), [(Role.TRASH, ("received", "sent", "draft")), (Role.DRAFTS, ("draft",))])
def test_what_is_destroyed_is_gone_and_what_is_held_would_only_lose_its_place(
    role: Role, kinds: tuple[str, ...]
) -> None:
    """P-58, P-61."""
    where = {"verb": "UID EXPUNGE", "from": NAMES[role], "marked Deleted by": "this session", "place before": "(from)"}
    assert TABLE.of("destroy", role).end is End.DELETED
    assert TABLE.of("destroy", role, held=True).end is End.KEPT
    for kind in kinds:
        free = {"flavour": kind, "label (not from)": "no", "star (not from)": "no"}
        assert {one["place"] for one in seen("expunge", **where, **free)} == {"deleted for good"}
        for held in ({"label (not from)": "yes"}, {"star (not from)": "yes"}):
            assert {one["place"] for one in seen("expunge", **{**where, **free, **held})} == {"none"}


@pytest.mark.parametrize("row", [row for row in ROWS if row.verb == "reattach"], ids=named)
def test_an_orphan_is_back_where_its_row_says(row: Consequence) -> None:
    """P-56."""
    assert row.target is not None
    for kind in ("received", "sent", "draft"):
        target = HOMES[kind] if row.end is End.HOME else NAMES[row.target]
        where = {"from": "All Mail", "to": target, "already in to": "no", "place before": "none", "flavour": kind}
        assert {one["place"] for one in seen("copy", **where)} <= {"to", "home"}


HARM = frozenset({"none", "deleted for good"})


@pytest.mark.parametrize(
    "row", [row for row in REFUSED if row.verb == "move" and row.source in NAMES and row.target is not None], ids=named
)
def test_a_move_that_is_refused_was_seen_to_do_something_else(row: Consequence) -> None:
    """P-20: it loses the place, a label or a star, is refused by Bridge, or leaves the message where it is."""
    assert row.source is not None
    assert row.target is not None
    if row.source in {Role.RECOVERED, Role.NODE}:
        assert row.shown_by
        return
    where = {"from": NAMES[row.source], "to": NAMES[row.target]}
    for kind in KINDS.get(row.source, ("received", "sent", "draft")):
        outcomes = seen("move", **where, flavour=kind)
        assert any(
            one["place"] in {*HARM, "unchanged"} or one["labels"] or not str(one["reply"]).startswith("OK")
            for one in outcomes
        ), outcomes


@pytest.mark.parametrize("role", [Role.INBOX, Role.SENT, Role.ARCHIVE, Role.SPAM, Role.FOLDER])
def test_where_expunge_orphans_nothing_is_destroyed_there(role: Role) -> None:
    """N-16."""
    where = {"verb": "UID EXPUNGE", "from": NAMES[role], "marked Deleted by": "this session", "place before": "(from)"}
    assert {one["place"] for one in seen("expunge", **where)} == {"none"}
    if role is not Role.SPAM:  # spam is moved to Trash first
        with pytest.raises(Unsupported) as refusal:
            TABLE.of("destroy", role)
        assert "Trash" in (refusal.value.next or "")


def test_every_pair_of_roles_is_either_allowed_or_refused_with_what_to_do_instead() -> None:
    """P-20, N-6: no combination falls through to another row's."""
    for source in Role:
        for target in Role:
            for verb in ("move", "label"):
                try:
                    row = TABLE.of(verb, source, target)
                except Unsupported as refusal:
                    assert refusal.code == "unsupported_semantics"
                    assert refusal.next
                else:
                    assert (row.source, row.target) == (source, target)


def test_what_is_not_known_of_a_message_meets_no_condition() -> None:
    assert TABLE.of("move", Role.FOLDER, Role.FOLDER).end is End.MOVED
    assert TABLE.of("move", Role.FOLDER, Role.FOLDER, there=True).end is End.KEPT
    assert TABLE.of("label", Role.INBOX, Role.LABEL, there=True).end is End.KEPT


def test_every_row_names_recordings_that_are_kept() -> None:
    """P-20: and what is said to be known from the engine is tried there (`hazards/test_rows.py`)."""
    tried = {row.evidence for row in TABLE.rows if row.verb != "append"}
    assert tried == {(Evidence.RECORDED, Evidence.ENGINE)}
    for row in TABLE.rows:
        assert set(row.shown_by) <= RECORDINGS | {"effects"}, row.shown_by
        assert row.shown_by or row.effects <= READING


def test_what_deletes_says_so_and_nothing_else_does() -> None:
    """P-58."""
    for row in ROWS:
        assert bool(row.effects & DESTRUCTIVE) == (row.verb in {"destroy", "remove"})
        assert row.effects
    assert TABLE.of("remove", Role.FOLDER).effects == {Effect.DELETE_FOLDER}
    assert TABLE.of("remove", Role.LABEL).effects == {Effect.DELETE_LABEL}
