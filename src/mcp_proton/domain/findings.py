"""Findings: what a trial of ours showed of one version of a server, on one account (N-8). Kept apart from what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finding:
    """How a verb came out: as the effect table says, or (`why` says how) otherwise."""

    verb: str
    proved: bool
    at: datetime
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a trial made, or was about to make: everything of it bears the token. `mark` is its message's identity."""

    token: str
    version: str
    mark: str | None = None


class KnownFindings(Protocol):
    """What was found so far."""

    def of(self, account: str, version: str) -> Mapping[str, Finding] | None:
        """Return the latest finding of each verb. None when the memory cannot be read: then nothing is proved."""
        ...


class Findings(KnownFindings, Protocol):
    """The memory of trials. What is written is durable, and holds in every process, when a method returns."""

    async def record(self, account: str, version: str, finding: Finding) -> None:
        """Write down a finding, in the place of an earlier one of the same verb."""
        ...

    def trace(self, account: str) -> Trace | None:
        """Return what a trial that did not end left behind, None where none did."""
        ...

    async def keep(self, account: str, trace: Trace) -> None:
        """Write down what is about to be made: before it is."""
        ...

    async def forget(self, account: str) -> None:
        """Nothing is left of it."""
        ...


class NoFindings:
    """Nothing was ever tried."""

    def of(self, account: str, version: str) -> Mapping[str, Finding] | None:
        """Nothing."""
        return {}
