"""Who may import whom: the contracts of `.importlinter` hold here, and each of them bites where it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSE = [
    "__main__",
    "bootstrap/running",
    "config",
    "testing",
    "admin/cli",
    "admin/setup",
    "admin/web/pages",
    "mcp/server",
    "mcp/tools",
    "jobs/runner",
    "jobs/webhooks",
    "services/door",
    "services/operations/reading",
    "services/operations/filing",
    "policy/decide",
    "bridge/backend",
    "jmap/client",
    "storage/journal",
    "storage/vault",
    "remote/fetch",
    "documents/pdf",
    "imap/session",
    "imap/login/oauth",
    "mime/parse",
    "domain/mail",
    "simulator/server",
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        Path(sys.executable).with_name("lint-imports"),
        "--no-logo",
        "--no-cache",
        ROOT / ".importlinter",
    ]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def build(folder: Path, modules: list[str]) -> None:
    """A project of empty modules that has the shape of ours."""
    for module in modules:
        file = folder / "mcp_proton" / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        for parent in file.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()


def test_the_project_keeps_every_contract() -> None:
    found = lint(ROOT / "src")
    assert found.returncode == 0, found.stdout + found.stderr


def test_packages_that_do_not_exist_yet_break_nothing(tmp_path: Path) -> None:
    build(tmp_path, ["domain/mail", "simulator/server", "services/operations/reading"])
    found = lint(tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_package_without_a_floor_is_refused(tmp_path: Path) -> None:
    build(tmp_path, [*HOUSE, "helpers/things"])
    found = lint(tmp_path)
    assert found.returncode != 0
    assert "helpers" in found.stdout


ALLOWED = [
    ("mcp/server", "fastmcp"),
    ("mcp/tools", "mcp.types"),
    ("bootstrap/running", "sqlalchemy"),
    ("admin/cli", "fastmcp"),
    ("admin/web/pages", "jinja2"),
    ("admin/setup", "mcp_proton.simulator.server"),
    ("bootstrap/running", "mcp_proton.simulator.server"),
    ("bootstrap/running", "mcp_proton.storage.journal"),
    ("storage/vault", "keyring"),
    ("imap/session", "aiosmtplib"),
    ("documents/pdf", "pypdfium2"),
    ("imap/login/oauth", "httpx2"),
    ("bridge/backend", "mcp_proton.imap.session"),
    ("services/door", "mcp_proton.mime.parse"),
]


def test_what_the_house_allows_passes(tmp_path: Path) -> None:
    build(tmp_path, HOUSE)
    for importer, imported in ALLOWED:
        with (tmp_path / "mcp_proton" / f"{importer}.py").open("a") as file:
            file.write(f"import {imported}\n")
    found = lint(tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("domain/mail", "mcp_proton.mime.parse", "Packages look down, never up"),
        ("mime/parse", "mcp_proton.imap.session", "Packages look down, never up"),
        ("mcp/server", "mcp_proton.admin.cli", "Packages look down, never up"),
        ("bridge/backend", "mcp_proton.storage.journal", "Packages look down, never up"),
        ("simulator/server", "mcp_proton.domain.mail", "Packages look down, never up"),
        ("services/door", "mcp_proton.bootstrap", "Packages look down, never up"),
        ("services/door", "mcp_proton.imap.session", "ports, not servers"),
        ("services/operations/reading", "mcp_proton.storage.journal", "ports, not servers"),
        ("policy/decide", "mcp_proton.imap.session", "ports, not servers"),
        ("jobs/runner", "mcp_proton.jmap.client", "ports, not servers"),
        ("services/door", "mcp_proton.simulator.server", "start the simulator"),
        ("imap/session", "mcp_proton.simulator.server", "start the simulator"),
        ("services/door", "fastmcp", "FastMCP"),
        ("admin/setup", "mcp.types", "FastMCP"),
        ("services/door", "starlette.requests", "HTTP servers"),
        ("admin/setup", "jinja2", "HTTP servers"),
        ("services/door", "sqlalchemy.ext.asyncio", "database"),
        ("policy/decide", "alembic", "database"),
        ("storage/journal", "keyring", "keyring"),
        ("bridge/backend", "aiosmtplib", "SMTP"),
        ("jobs/runner", "httpx2", "HTTP to others"),
        ("imap/session", "httpx2", "HTTP to others"),
        ("services/door", "pypdfium2", "readers of documents"),
        ("mcp/server", "opentelemetry.trace", "OpenTelemetry"),
        ("services/door", "mcp_proton.documents.pdf", "ports, not servers"),
        ("services/operations/reading", "mcp_proton.services.operations.filing", "do not know one another"),
    ],
)
def test_a_forbidden_import_is_named(tmp_path: Path, importer: str, imported: str, contract: str) -> None:
    build(tmp_path, HOUSE)
    (tmp_path / "mcp_proton" / f"{importer}.py").write_text(f"import {imported}\n")
    found = lint(tmp_path)
    assert found.returncode != 0
    broken = [line for line in found.stdout.splitlines() if line.endswith("BROKEN")]
    assert any(contract in line for line in broken), found.stdout + found.stderr


def test_a_circle_among_siblings_is_named(tmp_path: Path) -> None:
    build(tmp_path, HOUSE)
    (tmp_path / "mcp_proton/admin/cli.py").write_text("import mcp_proton.admin.setup\n")
    (tmp_path / "mcp_proton/admin/setup.py").write_text("import mcp_proton.admin.cli\n")
    found = lint(tmp_path)
    assert found.returncode != 0
    assert "No circles among siblings BROKEN" in found.stdout
