"""A service over the demonstration for whoever only looks, and an owner with a Bridge and a home of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.cli.lab import Bridge, Owner, Said

from .process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class OwnerBeside(Owner):
    """The owner, whose commands run beside a test's own event loop."""

    def run(self, *words: str | Path) -> Said:
        with ThreadPoolExecutor(1) as beside:
            return beside.submit(super().run, *words).result()


@pytest.fixture(scope="module")
def demo() -> Iterator[Service]:
    """A service that a file's tests may call, and none changes. For more files it would see more sessions than it allows."""
    with Service("--demo", "--listen", "127.0.0.1:0") as service:
        yield service


@pytest.fixture(scope="package")
def bridge() -> Iterator[Bridge]:
    """A Bridge whose mail no test changes."""
    with Bridge() as running:
        yield running


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bridge: Bridge) -> Owner:
    """The owner, connected to the Bridge, who wants the service on any free port."""
    home = tmp_path / "home"
    monkeypatch.setenv("MCP_PROTON_HOME", str(home))
    monkeypatch.setenv("MCP_PROTON_LISTEN", "127.0.0.1:0")
    owner = OwnerBeside(home, capsys)
    owner.connect(bridge)
    return owner


@pytest.fixture
def serving(owner: Owner) -> Iterator[Service]:
    """The owner's service."""
    with Service("--listen", "127.0.0.1:0", home=owner.home) as service:
        yield service
