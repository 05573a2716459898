"""What trashing one message costs on Bridge in a large account: turns of the wire, commands, bytes; beside the bare recipe."""

from __future__ import annotations

import asyncio

from mcp_proton.bridge.backend import BridgeBackend
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode
from mcp_proton.imap.protocol.connection import Connection
from mcp_proton.simulator import GivenMessage, Simulator

from .counting import Relay, relay
from .timing import Figure, absolute

EVERYTHING, IN_TRASH = 50_000, 20_000
BARE = 3
"""turns of the recipe with the mailbox open: NOOP; the id header of the message; NOOP and MOVE in one packet"""

_ACCOUNT = f"turns with {EVERYTHING} in All Mail, {IN_TRASH} in Trash"


def measure() -> list[Figure]:
    """Count the first trash of a process, and the next."""
    return asyncio.run(_measured())


async def _measured() -> list[Figure]:
    letters = [_letter(number) for number in range(EVERYTHING)]
    async with Simulator(letters) as simulator, relay(simulator.host, simulator.imap_port) as counting:
        return await _counted(simulator, counting)


async def _counted(simulator: Simulator, wire: Relay) -> list[Figure]:
    async def password() -> str:
        return simulator.password

    endpoint = Endpoint("127.0.0.1", wire.port, TlsMode.PLAIN, plain_to_this_machine=True)
    backend = BridgeBackend("bench", endpoint, Credentials(simulator.username, password))
    said = _listening()
    figures = []
    try:
        boxes = {box.role: box for box in await backend.mailboxes()}
        rows = (await backend.search([boxes[Role.INBOX]], All(), Page(5))).rows
        for which, row in zip(("the first", "the next"), rows, strict=False):
            wire.reset()
            said.clear()
            (fate,) = await backend.move([row.handle], boxes[Role.TRASH])
            assert fate.ending is Ending.DONE, fate
            print(f"     {which}: {len(said)} commands ({', '.join(said)}), {wire.octets} bytes of answers")
            figures.append(absolute(f"{which} trash: {_ACCOUNT}", wire.turns, BARE + 3, "turns"))
    finally:
        await backend.aclose()
    return figures


def _letter(number: int) -> GivenMessage:
    raw = (
        f"From: Anna <anna@example.org>\nTo: Me <alice@proton.local>\nSubject: Letter {number}\n"
        f"Date: Sun, 01 Mar 2026 12:00:00 +0000\nMessage-ID: <{number}@bench.example>\n\nGood day {number}.\n"
    )
    place = "trash" if number < IN_TRASH else "archive" if number < EVERYTHING - 5_000 else "inbox"
    return GivenMessage(raw.encode(), places=(place,), time=1_770_000_000.0 + number)


def _listening() -> list[str]:
    """Take down what our side says from now on."""
    said: list[str] = []
    enter = Connection._enter

    def noted(self: Connection, ask: object, silence: float | None) -> object:
        line = b"".join(piece for piece in ask.line if isinstance(piece, bytes)).decode("latin-1")  # type: ignore[attr-defined]
        words = line.split(" ")
        said.append(" ".join(words[:2] if words[0] == "UID" else words[:1]))
        return enter(self, ask, silence)  # type: ignore[arg-type]

    Connection._enter = noted  # type: ignore[method-assign,assignment]
    return said
