"""Real mail servers as fixtures. `dovecot` and `cyrus` give each test an account of its own on a shared server."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.servers import install, process
from tests.servers.cyrus import Cyrus
from tests.servers.dovecot import Dovecot
from tests.servers.postfix import Postfix
from tests.servers.pymap import Pymap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.servers.account import Account

Server = TypeVar("Server", bound=Dovecot | Cyrus | Postfix | Pymap)


@contextmanager
def running(start: Callable[[Path], Server]) -> Iterator[Server]:
    """A server from `start` (`Dovecot` or `Cyrus`), stopped and gone at the end."""
    if lacks := install.missing():
        raise process.ServerFailedError(f"not on this machine: {', '.join(lacks)}; run `make servers`")
    folder = process.make_folder()
    try:
        server = start(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def dovecot_server() -> Iterator[Dovecot]:
    with running(Dovecot) as server:
        yield server


@pytest.fixture(scope="session")
def cyrus_server() -> Iterator[Cyrus]:
    with running(Cyrus) as server:
        yield server


@pytest.fixture(scope="session")
def pymap_server() -> Iterator[Pymap]:
    with running(Pymap) as server:
        yield server


@pytest.fixture(scope="session")
def postfix(dovecot_server: Dovecot) -> Iterator[Postfix]:
    """It hands mail to `dovecot`'s accounts, and refuses everybody else. For root only (`postfix.can_run`)."""
    with running(lambda folder: Postfix(folder, dovecot_server)) as server:
        yield server


@pytest.fixture
def dovecot(dovecot_server: Dovecot) -> Account:
    return dovecot_server.account()


@pytest.fixture
def pymap(pymap_server: Pymap) -> Account:
    return pymap_server.account()


@pytest.fixture
def cyrus(cyrus_server: Cyrus) -> Account:
    return cyrus_server.account()
