"""A Bridge with an owner's mail in it, and a canary whose time passes at once: a pause is the events that come meanwhile."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mcp_proton.bridge.trying.canary import Canary
from mcp_proton.simulator import GivenLabel, GivenMessage, GivenUser, Simulator
from mcp_proton.storage.findings import FileFindings
from mcp_proton.testing import FixedClock
from tests.contract import worlds
from tests.contract.letters import letter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from mcp_proton.bridge.backend import BridgeBackend

NEWER = "03.27.00"
SUBJECT = "mcp-proton check of the owner's own"


class Killed(BaseException):
    """The process is no more."""


def mail() -> list[GivenMessage]:
    """Mail in every kind of place, one of it with a subject like ours."""
    held = {
        "in": ("inbox",), "starred": ("inbox", "starred"), "labelled": ("inbox", "Labels/Blue"), "bin": ("trash",),
        "filed": ("Folders/Work",), "old": ("archive",), SUBJECT: ("trash", ),
    }  # fmt: skip
    return [
        GivenMessage(letter(key, number=number), key=key, places=places)
        for number, (key, places) in enumerate(held.items())
    ]


def given() -> GivenUser:
    """The owner."""
    labels = [GivenLabel.from_path("Folders/Work"), GivenLabel.from_path("Labels/Blue")]
    return GivenUser("alice", ["alice@proton.local"], labels, mail())


@dataclass
class Nest:
    """`killed_at`: the process ends at this pause, counted from 1; `said` is what the owner was told."""

    simulator: Simulator
    backend: BridgeBackend
    findings: FileFindings
    clock: FixedClock = field(default_factory=FixedClock)
    killed_at: int = 0
    pauses: int = 0
    said: list[str] = field(default_factory=list)

    def canary(self) -> Canary:
        """One of this process."""
        return Canary(self.backend, self.findings, self.clock, self._lease, self._pause, self.said.append)

    def everything(self) -> dict[str, object]:
        """All mail and all mailboxes, as they truly are."""
        account = self.simulator.account()
        return {
            **self.simulator.state(),
            "mailboxes": sorted(account.label_path(one) for one in account.labels.values()),
        }

    async def _pause(self, _: float) -> None:
        self.pauses += 1
        if self.pauses == self.killed_at:
            raise Killed
        self.simulator.release_events()

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[None]:
        yield


@asynccontextmanager
async def nest(
    folder: Path,
    *,
    model: Literal["real", "fake"] = "real",
    version: str | None = NEWER,
    quirk: Callable[[Simulator], None] = lambda _: None,
) -> AsyncIterator[Nest]:
    """A Bridge of some version, with some quirk that no recorded Bridge has."""
    async with Simulator(users=[given()], certificate=worlds.CERTIFICATE, model=model) as simulator:
        simulator.settings.version = version
        quirk(simulator)
        findings = FileFindings(folder)
        backend = worlds.bridge_backend(simulator, findings=findings)
        try:
            yield Nest(simulator, backend, findings)
        finally:
            await backend.aclose()
