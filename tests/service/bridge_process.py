"""The owner's service on a Bridge, in a process of its own: reads requests as lines of JSON, answers each with a line.

    python bridge_process.py        (MCP_PROTON_HOME says where its files are)
    python bridge_process.py fly    makes a trial of account `me`, as `doctor --prove` does

Bridge's events come at once in these tests, so what waits for them does not wait long.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_proton import bootstrap
from mcp_proton.bridge.changing import proof
from mcp_proton.bridge.trying import canary
from mcp_proton.domain.caller import owner
from mcp_proton.services.presenting.answers import answer
from tests.service.conftest import CATALOG


async def serve() -> None:
    """Recover as a server does, then answer until the input ends."""
    async with bootstrap.real(os.environ) as running:
        world = running.service.world
        object.__setattr__(world, "settings", replace(world.settings, prove_after=0.5))
        running.service.recover()
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            request = CATALOG.by_name[asked["ask"]].request.model_validate(asked["with"])
            print(json.dumps(answer(await running.service.submit(owner(), request))), flush=True)


async def fly() -> None:
    """One trial."""
    async with bootstrap.real(os.environ) as running, running.trials.of("me") as one:
        trial = await one.fly()
        print(json.dumps({found.verb: found.proved for found in trial.findings}), flush=True)


if __name__ == "__main__":
    proof.EVENT, proof.MISMATCH, canary.SETTLE = 0.3, 1.0, 0.4
    asyncio.run(fly() if sys.argv[1:] == ["fly"] else serve())
