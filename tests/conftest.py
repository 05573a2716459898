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
    """Leave Proton's engine out where this machine cannot build it; `make test` says so."""
    on_the_engine = [item for item in items if {"gluon", "gluon_server"} & set(getattr(item, "fixturenames", ()))]
    if on_the_engine and gluon_build.missing():
        config.hook.pytest_deselected(items=on_the_engine)
        items[:] = [item for item in items if item not in on_the_engine]
