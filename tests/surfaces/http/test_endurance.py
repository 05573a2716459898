"""The short forms of `make fuzz` and `make soak`: no fault, nothing leaks, and the service still answers (P-98)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import soak
from .crowded import crowd
from .fuzzing import SPARE, Fuzz, Told, still_well

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
MOST_SOAKED = 24.0
"""MiB that memory may grow by in two minutes, once it is warm; seen were 5."""


def test_a_thousand_malformed_requests_bring_no_fault_and_leave_nothing_behind(tmp_path: Path) -> None:
    """J-103, J-130. Ten thousand in `make fuzz`."""
    with crowd(tmp_path / "home", ["fuzz"]) as found, found.serve() as service:
        token = found.tokens["fuzz"]
        told = Fuzz(service, token, seed=7).run(1_000, Told())
        still_well(service, token)
        assert service.end() == 0
    assert told.requests == 1_000
    assert told.bounded, told


@pytest.mark.long
def test_fifty_clients_at_once_leave_memory_and_open_files_as_they_are(tmp_path: Path) -> None:
    """P-03: for two minutes; half an hour, and the slope of memory, in `make soak`."""
    told = soak.run(tmp_path / "home", 120.0)
    assert told.answers["ok"] > soak.CLIENTS, told.answers
    before, after = told.files
    assert after <= before + SPARE
    assert told.grown <= MOST_SOAKED
