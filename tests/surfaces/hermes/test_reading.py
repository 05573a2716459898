"""A real Hermes Agent, driven by a stub model, reads mail over stdio from the product as it is installed (P-05)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.hermes.script import Call, Say, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.surfaces.hermes.agent import Hermes

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

SERVER = [Path(sys.executable).with_name("mcp-proton"), "mcp", "--demo", "--profile", "core"]


def handle_in(results: Sequence[str]) -> str:
    """Return the first handle of the latest result, copied as a model would."""
    found = re.search(r"demo\.[a-z2-7]{6}\.[A-Za-z0-9_-]+", results[-1])
    assert found is not None, results[-1][:300]
    return found[0]


def reading(results: Sequence[str]) -> dict[str, Any]:
    return {"message": handle_in(results)}


def test_hermes_searches_and_reads_a_mail_and_a_refusal_does_not_lock_it_out(hermes: Hermes) -> None:
    """Five refusals in a row are ordinary answers: three faults would have closed the server for a minute."""
    refused = Call("messages_get", {"message": "demo.aaaaaa.1-1"})
    script: list[Step] = [
        Call("messages_search", {"query": "from:ferreira subject:kitchen", "limit": 3}),
        Call("messages_get", reading),
        *[refused] * 5,
        Call("mailboxes_overview", {"limit": 3}),
        Say("done: {last}"),
    ]
    turn = hermes.run(SERVER, {}, script)
    assert "Kitchen cabinets" in turn.results("messages_search")[0], turn.errors
    first, *others = turn.results("messages_get")
    assert "tomas@ferreira-woodwork.example" in first
    assert "untrusted" in first
    assert all("stale" in one and "unreachable" not in one for one in others)
    assert "from a person" in turn.results("mailboxes_overview")[0]
    assert not re.search(r"Traceback|Error", turn.errors)
