"""The same session on both sides, step by step, until they part."""

from __future__ import annotations

import asyncio
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.replaying.matching import CLOSED
from tests.differential.left_out import without_recent
from tests.differential.naming import Naming
from tests.differential.sides import opened

if TYPE_CHECKING:
    from mcp_proton.simulator.certificate import Certificate
    from tests.differential.script import Session
    from tests.differential.sides import Side
    from tests.servers.gluon_server import GluonServer

# How long a session of the engine takes, at most, to be told of what another did; with more to do, longer.
_PAUSES = (0.008, 0.05, 0.2)


@dataclass(frozen=True)
class Disagreement:
    """Where the two part: the step (0: what is there in the end) and both answers."""

    session: Session
    step: int
    engine: list[str]
    simulator: list[str]

    def __str__(self) -> str:
        said = self.session.steps[self.step - 1] if self.step else "in the end"
        both = difflib.unified_diff(
            self.engine, self.simulator, "engine", "simulator", n=20 if self.step else 3, lineterm=""
        )
        again = f"again: python -m tests.differential --seed {self.session.name.removeprefix('seed ')}"
        return "\n".join([str(self.session), f"step {self.step}: {said}", *both, again])


@dataclass(frozen=True)
class Played:
    """Where the two part, or None; and what the engine answered at each step."""

    disagreement: Disagreement | None
    answers: list[list[str]]


async def compare(session: Session, server: GluonServer, certificate: Certificate) -> Played:
    """Play it on both; what they part over only when the engine is hurried is no disagreement."""
    for pause in _PAUSES:
        played = await _play(session, server, certificate, pause)
        if played.disagreement is None:
            break
    return played


async def _play(session: Session, server: GluonServer, certificate: Certificate, pause: float) -> Played:
    async with opened(session, server, certificate) as sides:
        namings = Naming(), Naming()
        answers: list[list[str]] = []
        last = ""
        for number, step in enumerate(session.steps, 1):
            who = step.split()[0]
            if who != last or who in {"events", "elsewhere"}:
                await asyncio.sleep(pause)
            last = who
            engine, simulator = [
                without_recent(naming.named(await said(side, step)))
                for side, naming in zip(sides, namings, strict=True)
            ]
            answers.append(engine)
            if engine != simulator:
                return Played(Disagreement(session, number, engine, simulator), answers)
        return Played(await _end(session, sides, namings), answers)


async def said(side: Side, step: str) -> list[str]:
    """What a side answers to a step."""
    who, _, what = step.partition(" ")
    if who == "events":
        side.account.events()
        return []
    if who == "elsewhere":
        return [side.account.elsewhere(what.split())]
    client = side.clients[who]
    heard = await client.say(what)
    if what.startswith(("DELETE", "RENAME")) and CLOSED not in heard:
        # Whoever had the mailbox selected is told BYE after the tagged answer.
        heard += await client.say("NOOP")
    return heard


async def _end(session: Session, sides: tuple[Side, Side], namings: tuple[Naming, Naming]) -> Disagreement | None:
    await asyncio.sleep(0.01)
    engine, simulator = ([_describe(key, one) for key, one in side.account.state().items()] for side in sides)
    if sorted(engine) != sorted(simulator):
        return Disagreement(session, 0, sorted(engine), sorted(simulator))
    engine, simulator = [
        without_recent(naming.named(await _everything(side))) for side, naming in zip(sides, namings, strict=True)
    ]
    if engine != simulator:
        return Disagreement(session, 0, engine, simulator)
    return None


async def _everything(side: Side) -> list[str]:
    """What a fresh session finds in every mailbox."""
    say = side.clients["c"].say
    found: list[str] = []
    listed = [line for line in await say('LIST "" *') if line.startswith("* LIST") and "\\Noselect" not in line]
    for path in sorted(line.partition(' "/" ')[2] for line in listed):
        if path:
            examined = await say(f"EXAMINE {path}")
            found += [path, *examined]
            if "* 0 EXISTS" not in examined:
                found += await say("UID FETCH 1:* (FLAGS ENVELOPE)")
    return found


def _describe(key: str, found: dict[str, Any]) -> str:
    name = key if key == found["subject"] else ""
    return f"{name} {found['subject']}: {found['in']} {found['flags']} unread {found['unread']}"
