"""The effect table row by row, on the simulator and on Proton's engine: what its evidence `engine` stands for (P-20).

A row that is done is done by our backend, and the account shows its end. A refused row is refused by ours and carried out
by a naive client, which shows that the verb does something else.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.consequences import End, Evidence
from mcp_proton.domain.mail import Role
from mcp_proton.imap import effect_tables
from tests.contract import worlds
from tests.unit.bridge.hazards.refusals import REFUSALS
from tests.unit.bridge.hazards.trials import TRIALS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.domain.consequences import Consequence
    from mcp_proton.imap.protocol.pool import Habits
    from tests.unit.bridge.hazards.scene import Scene


@pytest.fixture
def sessions() -> Habits:
    """Looks anew before everything, since one row comes after the other."""
    return worlds.ATTENTIVE


ROWS = [row for row in effect_tables.load("mcp_proton.bridge").rows if Evidence.ENGINE in row.evidence]


async def wrong(scene: Scene, rows: list[Consequence], trials: dict[str, Callable[..., Awaitable[None]]]) -> list[str]:
    """The rows that came out otherwise, and how."""
    found = []
    for row in rows:
        try:
            await trials[row.verb](scene, row)
        except Exception as error:
            *_, last = traceback.extract_tb(error.__traceback__)
            at = f"{type(error).__name__} {error} at {last.filename}:{last.lineno}: {last.line}"
            found.append(f"{row.verb} {row.source} -> {row.target} ({row.end}): {at}")
    return found


@pytest.mark.parametrize("verb", sorted({row.verb for row in ROWS if not row.refused}))
async def test_a_row_that_is_done_ends_as_it_says(scene: Scene, verb: str) -> None:
    """P-20, P-55 to P-58."""
    found = await wrong(scene, [row for row in ROWS if row.verb == verb and not row.refused], TRIALS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("model", ["fake"])
@pytest.mark.parametrize("verb", sorted({row.verb for row in ROWS if row.refused}))
async def test_what_a_row_refuses_would_have_done_something_else(scene: Scene, verb: str) -> None:
    """P-20, N-6."""
    found = await wrong(scene, [row for row in ROWS if row.verb == verb and row.refused], REFUSALS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("model", ["fake"])
async def test_a_row_that_says_something_else_is_found_out(scene: Scene) -> None:
    archived = next(row for row in ROWS if (row.verb, row.source, row.target) == ("move", Role.INBOX, Role.ARCHIVE))
    claims = [replace(archived, end=End.KEPT), replace(archived, target=Role.SPAM, end=End.HOME)]
    assert len(await wrong(scene, claims, TRIALS)) == len(claims)
    assert len(await wrong(scene, [archived], REFUSALS)) == 1


def test_every_row_that_claims_the_engine_is_tried_on_it() -> None:
    """P-20."""
    assert {row.verb for row in ROWS if not row.refused} == set(TRIALS)
    assert {row.verb for row in ROWS if row.refused} == set(REFUSALS)
