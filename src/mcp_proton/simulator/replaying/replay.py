"""Recordings played against a fresh simulator, and what differs.

No step sleeps: the simulator's clock is wound, and a step is over when nobody has anything left to do. Where a recording
leaves open which address logs in (`{user}`), the one that fits is looked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.simulator.certificate import Certificate, make_certificate
from mcp_proton.simulator.replaying import recording as recordings
from mcp_proton.simulator.replaying.playing import Player

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Difference:
    """One point where a replay and its recording part."""

    file: str
    step: int
    what: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.file}, step {self.step}: {self.what}\n    recorded: {self.expected}\n    replayed: {self.got}"


async def replay_file(path: Path, certificate: Certificate | None = None) -> list[Difference]:
    """Play one recording; an empty list means no difference. Raises NotARecordingError for other files."""
    recorded = recordings.load(path)
    shared = certificate or make_certificate()
    logins: dict[int, str] = {}
    best = await _play(recorded, shared, logins)
    for opening in range(sum("open" in step for step in recorded.steps) or 1):
        for address in _addresses(recorded)[1:]:
            if not best:
                return []
            differences = await _play(recorded, shared, {**logins, opening: address})
            if len(differences) < len(best):
                logins[opening], best = address, differences
    return best


async def replay(paths: Iterable[Path], report: Callable[[str], None]) -> int:
    """Play recordings and report each difference; returns 0 if there was none, else 1."""
    certificate = make_certificate()
    failed = False
    for path in paths:
        try:
            differences = await replay_file(path, certificate)
        except recordings.NotARecordingError as error:
            report(str(error))
            failed = True
            continue
        for difference in differences:
            report(str(difference))
        failed = failed or bool(differences)
    return int(failed)


def _addresses(recorded: recordings.Recording) -> list[str]:
    return [address for user in recorded.users for address in user.addresses]


async def _play(recorded: recordings.Recording, certificate: Certificate, logins: dict[int, str]) -> list[Difference]:
    found = await Player(recorded, certificate, logins).play()
    return [Difference(recorded.path.name, step, what, expected, got) for step, what, expected, got in found]
