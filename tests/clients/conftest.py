"""One service over the demonstration, for clients that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.http.process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def demo() -> Iterator[Service]:
    """A service that a file's tests may call, and none changes."""
    with Service("--demo", "--listen", "127.0.0.1:0") as service:
        yield service
