"""Fixtures every test can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.canaries import plugin as canaries
from tests.servers import browser_install, gluon_build
from tests.servers.browser import chromium
from tests.servers.fixtures import cyrus, cyrus_server, dovecot, dovecot_server, postfix, pymap, pymap_server
from tests.servers.gluon_server import gluon, gluon_server
from tests.servers.oidc_server import oidc
from tests.surfaces.hermes.fixtures import hermes

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

__all__ = [
    "chromium",
    "cyrus",
    "cyrus_server",
    "dovecot",
    "dovecot_server",
    "gluon",
    "gluon_server",
    "hermes",
    "oidc",
    "postfix",
    "pymap",
    "pymap_server",
]
_OPTIONAL = {"gluon": gluon_build, "gluon_server": gluon_build, "chromium": browser_install}
"""Fixtures that a machine need not have, each with what says so."""


def pytest_configure(config: pytest.Config) -> None:
    """Listen to whatever is said: nothing of mail may be in it."""
    canaries.register(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot have: Proton's engine, the browser. What waits for minutes begins at once."""
    parts = {part for item in items for part in _needed(item)}
    absent = {part for part in parts if part.missing()}
    out = [item for item in items if absent & _needed(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not absent & _needed(item)]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say so."""
    for part in dict.fromkeys(_OPTIONAL.values()):
        if lacks := part.missing():
            terminalreporter.write_line(part.left_out(lacks), yellow=True)


def _needed(item: pytest.Item) -> set[ModuleType]:
    found = {_OPTIONAL[name] for name in getattr(item, "fixturenames", ()) if name in _OPTIONAL}
    return found | {gluon_build} if item.get_closest_marker("engine") else found
