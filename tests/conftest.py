"""Fixtures every test can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers import gluon_build
from tests.servers.fixtures import cyrus, cyrus_server, dovecot, dovecot_server, postfix
from tests.servers.gluon_server import gluon, gluon_server
from tests.surfaces.hermes.fixtures import hermes

if TYPE_CHECKING:
    import pytest

__all__ = ["cyrus", "cyrus_server", "dovecot", "dovecot_server", "gluon", "gluon_server", "hermes", "postfix"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave Proton's engine out where this machine cannot build it."""
    on_the_engine = [item for item in items if _needs_engine(item)]
    if on_the_engine and gluon_build.missing():
        config.hook.pytest_deselected(items=on_the_engine)
        kept = set(items) - set(on_the_engine)
        items[:] = [item for item in items if item in kept]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say so."""
    if lacks := gluon_build.missing():
        terminalreporter.write_line(gluon_build.left_out(lacks), yellow=True)


def _needs_engine(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool({"gluon", "gluon_server"} & fixtures) or item.get_closest_marker("engine") is not None
