"""One check of `mcp-proton doctor`: what it found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a check came out: FIX needs the owner, NOTE is worth knowing, SKIP could not be looked at."""

    OK = "ok"
    NOTE = "note"
    FIX = "fix"
    SKIP = "skip"


@dataclass(frozen=True)
class Check:
    """One line. `repair` names the account that `mcp-proton setup` would mend."""

    name: str
    state: State
    what: str
    next: str | None = None
    repair: str | None = None


def ok(name: str, what: str) -> Check:
    """Say that something is well."""
    return Check(name, State.OK, what)


def fix(name: str, what: str, following: str | None, repair: str | None = None) -> Check:
    """Say that something needs the owner."""
    return Check(name, State.FIX, what, following, repair)
