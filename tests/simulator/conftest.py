"""What the tests of the simulator share."""

from __future__ import annotations

import pytest

from mcp_proton.simulator import Certificate, make_certificate


@pytest.fixture(scope="session")
def certificate() -> Certificate:
    """One certificate for all simulators, because keys are slow to make."""
    return make_certificate()
