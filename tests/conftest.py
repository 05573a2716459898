"""Fixtures every test can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers import gluon_build, oidc_install
from tests.servers.fixtures import cyrus, cyrus_server, dovecot, dovecot_server, postfix
from tests.servers.gluon_server import gluon, gluon_server
from tests.servers.oidc_server import oidc
from tests.surfaces.hermes.fixtures import hermes

if TYPE_CHECKING:
    import pytest

__all__ = ["cyrus", "cyrus_server", "dovecot", "dovecot_server", "gluon", "gluon_server", "hermes", "oidc", "postfix"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out Proton's engine and the OpenID provider where this machine cannot have them."""
    on_the_engine = [item for item in items if _needs_engine(item)]
    with_oidc = [item for item in items if "oidc" in getattr(item, "fixturenames", ())]
    out = set(on_the_engine) if on_the_engine and gluon_build.missing() else set()
    out |= set(with_oidc) if with_oidc and oidc_install.missing() else set()
    if out:
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say so."""
    for part in (gluon_build, oidc_install):
        if lacks := part.missing():
            terminalreporter.write_line(part.left_out(lacks), yellow=True)


def _needs_engine(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool({"gluon", "gluon_server"} & fixtures) or item.get_closest_marker("engine") is not None
