"""What a supervisor such as systemd is told: when clients are answered, and whether starting again could help (P-07)."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.http.process import PATIENCE, ROOT, Service
from tests.surfaces.http.speaking import Raw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process


@pytest.mark.parametrize("abstract", [False, True])
def test_a_supervisor_is_told_when_clients_are_answered(tmp_path: Path, abstract: bool) -> None:
    """sd_notify(3): one datagram, to a path or to an abstract name."""
    where = f"@{tmp_path.name}-{tmp_path.parent.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(where.replace("@", "\0"))
        supervisor.settimeout(PATIENCE)
        with Service("--demo", "--listen", "127.0.0.1:0", more={"NOTIFY_SOCKET": where}) as service:
            assert supervisor.recv(64) == b"READY=1"
            with Raw(service.url) as raw:
                assert raw.http.get(service.url.replace("/mcp", "/health")).status_code == 200


def test_a_supervisor_that_is_gone_is_no_fault_of_the_service(tmp_path: Path) -> None:
    with Service("--demo", "--listen", "127.0.0.1:0", more={"NOTIFY_SOCKET": str(tmp_path / "gone")}) as service:
        assert service.end() == 0


def code(home: Path, *words: str) -> int:
    """Start the service where it cannot serve; return its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "mcp_proton", "serve", *words],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "MCP_PROTON_HOME": str(home)},
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode


def test_what_the_owner_has_to_mend_ends_otherwise_than_what_may_pass(tmp_path: Path) -> None:
    """The units do not start it again after 2: no account is connected. A port that is taken may be free later."""
    assert code(tmp_path) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert code(tmp_path, "--demo", f"--listen=127.0.0.1:{taken.getsockname()[1]}") == 5
