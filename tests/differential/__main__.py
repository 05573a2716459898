"""Many sessions: `python -m tests.differential 2000 --first 5000`, or one again, cut down: `--seed 17`."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
import time
from typing import TYPE_CHECKING

from mcp_proton.simulator import make_certificate
from tests.differential.comparison import compare
from tests.differential.generator import generate
from tests.servers.gluon_server import running

if TYPE_CHECKING:
    from mcp_proton.simulator import Certificate
    from tests.differential.comparison import Disagreement
    from tests.differential.script import Session
    from tests.servers.gluon_server import GluonServer


async def main() -> int:
    """Compare and print; 1 if there is any disagreement."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("sessions", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one session only, and the shortest form of it that still differs")
    asked = parser.parse_args()
    with running() as server:
        if asked.seed is not None:
            return await _one(asked.seed, server, make_certificate())
        return await _many(range(asked.first, asked.first + asked.sessions), server, make_certificate())


async def _many(seeds: range, server: GluonServer, certificate: Certificate) -> int:
    began = time.monotonic()
    bad = 0
    for seed in seeds:
        found = (await compare(generate(seed), server, certificate)).disagreement
        if found is not None:
            bad += 1
            print(found, end="\n\n", flush=True)
    print(f"{len(seeds)} sessions in {time.monotonic() - began:.0f} s, {bad} differ")
    return int(bad > 0)


async def _one(seed: int, server: GluonServer, certificate: Certificate) -> int:
    found = (await compare(generate(seed), server, certificate)).disagreement
    if found is None:
        print("no difference")
        return 0
    print(found, "\n\nshorter:", sep="", flush=True)
    print(await shrunk(found, server, certificate))
    return 1


async def shrunk(found: Disagreement, server: GluonServer, certificate: Certificate) -> Disagreement:
    """The same disagreement with as few steps and messages as will do."""

    async def still(shorter: Session) -> bool:
        nonlocal found
        again = (await compare(shorter, server, certificate)).disagreement
        found = again or found
        return again is not None

    at = 0
    while at < len(found.session.steps):
        steps = found.session.steps
        at += not await still(dataclasses.replace(found.session, steps=(*steps[:at], *steps[at + 1 :])))
    at = 0
    while at < len(found.session.given):
        given = found.session.given
        at += not await still(dataclasses.replace(found.session, given=(*given[:at], *given[at + 1 :])))
    return found


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
