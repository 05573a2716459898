"""The measured effects: which cases a row stands for, and which of them can exist at all."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSTEM_HOMES = {"received": "INBOX", "both": "INBOX", "sent": "Sent", "draft": "Drafts", "scheduled": "Scheduled"}
NO_PLACES = frozenset({"All Mail", "Starred", "label"})
NOT_TO_BE_IN = frozenset({"Folders or Labels itself", "Recovered Messages", "missing"})
TRIES, CASES_OF_A_ROW = 400, 3


@dataclass(frozen=True)
class Case:
    """One combination of a section's columns, and what was seen to come of it."""

    section: str
    columns: tuple[tuple[str, str], ...]
    outcome: int

    def __getitem__(self, column: str) -> str:
        return dict(self.columns)[column]

    def get(self, column: str, default: str) -> str:
        return dict(self.columns).get(column, default)

    @property
    def expected(self) -> dict[str, Any]:
        return table()[self.section]["outcomes"][self.outcome]

    def __str__(self) -> str:
        return f"{self.section} {dict(self.columns)}"


@cache
def table() -> dict[str, Any]:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((Path(__file__).parent / "effects.yaml").read_text("utf-8"), Loader=loader)


def cases(section: str) -> tuple[list[Case], list[int]]:
    """Some cases of each row of a section, and the rows of which none was found."""
    source = random.Random(section)
    found: dict[Case, None] = {}
    barren: list[int] = []
    for number, row in enumerate(table()[section]["rows"]):
        of_row = list(_cases_of_row(section, row, source))
        found.update(dict.fromkeys(of_row))
        if not of_row:
            barren.append(number)
    return list(found), barren


def _cases_of_row(section: str, row: dict[str, Any], source: random.Random) -> Iterator[Case]:
    values = table()[section]["values"]
    count = 0
    for _ in range(TRIES):
        columns = {name: source.choice(_allowed(row.get(name), all_of_it)) for name, all_of_it in values.items()}
        columns |= {"api": "enriched"} if "api" in columns and _fits(row.get("api"), "enriched") else {}
        outcomes = {other["outcome"] for other in table()[section]["rows"] if _row_fits(other, columns)}
        # Where rows disagree, the combination was not run.
        if outcomes == {row["outcome"]} and can_be(section, columns):
            yield Case(section, tuple(columns.items()), row["outcome"])
            count += 1
        if count == CASES_OF_A_ROW:
            return


def _allowed(wanted: Any, values: list[str]) -> list[str]:
    return [value for value in values if _fits(wanted, value)]


def _fits(wanted: Any, value: str) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, dict):
        return value not in wanted["not"]
    return value in wanted if isinstance(wanted, list) else value == wanted


def _row_fits(row: dict[str, Any], columns: dict[str, str]) -> bool:
    return all(_fits(row.get(name), value) for name, value in columns.items())


def can_be(section: str, columns: dict[str, str]) -> bool:
    """Whether such a message can be where it should be."""
    if columns.get("api") == "stock":
        return False
    if section in {"append a new message", "from Recovered Messages"}:
        return section == "append a new message" or (columns["to"] == "-") == (columns["verb"] == "UID EXPUNGE")
    source = columns.get("from", "All Mail")
    if section == "expunge" and source in {"All Mail", "Scheduled"} and columns["marked Deleted by"] == "nobody":
        # They refuse EXPUNGE, so that marks of the cases before were still there when these were run.
        return False
    if section == "move" and (source, columns["flavour"], columns["already in to"]) == ("Starred", "scheduled", "yes"):
        return False
    if columns.get("X-Pm headers") == "removed" and not _was_stripped(columns):
        return False
    if section == "store" and not _was_stored(source, columns):
        return False
    if "Starred" in {source, columns.get("to")} and columns.get("star", columns.get("star (not from)", "no")) == "yes":
        return False
    return _place_can_be(source, columns) and _already_fits(source, columns)


def _was_stored(source: str, columns: dict[str, str]) -> bool:
    """Whether a STORE was run on such a message: star and read mark were those on which its flags can show."""
    flags, flavour = columns["flags"], columns["flavour"]
    if source in NO_PLACES and flavour != "received":
        return False
    own = {SYSTEM_HOMES[flavour], "Archive" if flavour == "sent" else "Trash"}
    if flavour not in {"received", "both"} and source not in own:
        return False
    starred = source == "Starred" or flags in {"-FLAGS (\\Flagged)", "FLAGS ()", "FLAGS (\\Seen)"}
    unread = flavour in {"received", "both"}
    if flags in {"+FLAGS (\\Seen)", "+FLAGS.SILENT (\\Seen)", "+FLAGS (\\Seen \\Flagged)", "FLAGS (\\Seen)"}:
        unread = True
    if flags in {"-FLAGS (\\Seen)", "FLAGS ()", "FLAGS (\\Flagged)"}:
        unread = False
    return columns["star before"] == _word(starred) and columns["unread before"] == _word(unread)


def _was_stripped(columns: dict[str, str]) -> bool:
    """Whether an APPEND without Bridge's headers was run of such a message."""
    place = columns["to"] if columns["place before"] == "(to)" else columns["place before"]
    return place in {"INBOX", "Trash"} and columns["flavour"] == "received"


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def _place_can_be(source: str, columns: dict[str, str]) -> bool:
    place, target = columns["place before"], columns.get("to", "-")
    if source not in NO_PLACES and place != "(from)":
        return False
    if place == "(from)" and source in NO_PLACES:
        return False
    if place == "(to)" and (target in NO_PLACES | NOT_TO_BE_IN or target == "-"):
        return False
    if place in {source, target} and place != "folder":
        return False
    location = {"(from)": source, "(to)": target}.get(place, place)
    homes = set(SYSTEM_HOMES.values())
    return location not in homes or SYSTEM_HOMES[columns["flavour"]] == location


def _already_fits(source: str, columns: dict[str, str]) -> bool:
    if "already in to" not in columns:
        return True
    already, target, place = columns["already in to"], columns["to"], columns["place before"]
    if already == "same mailbox":
        return target == source
    if target == source and target != "folder" and target != "label":
        return False
    if target in NOT_TO_BE_IN:
        return already == "no"
    if target in {"label", "Starred"}:
        return True
    return (already == "yes") == (place == "(to)")
