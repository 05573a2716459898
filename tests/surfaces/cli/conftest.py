"""An owner with an empty home, and Bridges to connect to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.cli.lab import Bridge, Owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Owner:
    """The owner, without a terminal."""
    home = tmp_path / "home"
    for name in ("MCP_PROTON_CLIENT", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCP_PROTON_HOME", str(home))
    monkeypatch.setattr(
        "mcp_proton.bridge.sync.APART", 0.05
    )  # between two looks at a count: nobody waits for them here
    return Owner(home, capsys)


@pytest.fixture(scope="session")
def bridge() -> Iterator[Bridge]:
    """A Bridge that every test may read, and none changes."""
    with Bridge() as running:
        yield running
