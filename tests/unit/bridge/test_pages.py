"""A batch of several pages on Bridge whose connection ends between two of them."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from mcp_proton.domain.outcome import Ending
from mcp_proton.simulator import GivenLabel
from tests.contract import worlds
from tests.servers import bridges
from tests.unit.bridge.hazards.scene import Scene

PAGE = 150


@pytest.mark.parametrize("verb", ["move", "label", "unlabel"])
async def test_what_the_first_page_did_stays_told_when_the_second_cannot_be_looked_at(verb: str) -> None:
    """P-61, P-55."""
    async with (
        bridges.simulated("real", [GivenLabel.from_path("Labels/Blue")]) as bridge,
        aclosing(worlds.bridge_backend(bridge.door)) as backend,
    ):
        scene = Scene(bridge, backend)
        source = "Labels/Blue" if verb == "unlabel" else "INBOX"
        for number in range(PAGE + 10):
            mail = f"Subject: n{number}\nFrom: a@example.org\n\nx\n".encode()
            bridge.deliver(mail, key=f"n{number}", places=["inbox", "Labels/Blue"][: 1 + (verb == "unlabel")])
        scene.events()
        handles = [row.handle for row in await scene.rows(source)]
        bridge.simulator.faults.at("before UID FETCH", n=2, action="drop")
        match verb:
            case "move":
                fates = await backend.move(handles, await scene.box("Archive"))
            case "label":
                fates = await backend.label(handles, await scene.box("Labels/Blue"))
            case _:
                fates = await backend.unlabel(handles)
    endings = [fate.ending for fate in fates]
    assert (endings.count(Ending.DONE), endings.count(Ending.FAILED)) == (PAGE, 10)
