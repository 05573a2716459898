"""Waiting, without sleeping, until a simulator and its clients have nothing left to do at this moment of the clock."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.simulator.replaying.line import Line
    from mcp_proton.simulator.server import Simulator

_QUIET_ROUNDS = 3
_PATIENCE = 20.0


async def settle(simulator: Simulator, lines: Sequence[Line]) -> None:
    """Return when all that was sent has arrived and every session waits for its client, for time, or for a writer."""
    deadline = time.monotonic() + _PATIENCE
    quiet = 0
    while quiet < _QUIET_ROUNDS:
        await asyncio.sleep(0)
        quiet = quiet + 1 if _is_quiet(simulator, lines) else 0
        if time.monotonic() > deadline:
            raise TimeoutError("the simulator does not come to rest")


def _is_quiet(simulator: Simulator, lines: Sequence[Line]) -> bool:
    busy = sum(not session.is_at_rest for session in simulator.sessions if not session.is_over)
    # What a client has sent is carried out whether it is still there or not.
    busy += sum(session.is_working and not session.is_at_rest for session in simulator.smtp_sessions)
    return busy <= simulator.parked + _gate_waiters(simulator) and all(_has_arrived(line) for line in lines)


def _gate_waiters(simulator: Simulator) -> int:
    return sum(tree.view.gate.waiting for user in simulator.users for tree in user.trees.values())


def _has_arrived(line: Line) -> bool:
    session = line.session
    if session.is_over:
        return line.is_over
    return line.received == session.sent and (not session.is_at_rest or session.incoming.received == line.sent)


async def connects(simulator: Simulator) -> bool:
    """Whether the IMAP port takes connections."""
    try:
        _, writer = await asyncio.open_connection(simulator.host, simulator.imap_port)
    except ConnectionError:
        return False
    writer.close()
    return True
