"""Fails each test during which a canary was heard, or the run where it was heard after the last test.

Works alone and with pytest-xdist: every worker listens to itself and to what it starts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.canaries import children, hearing, planting

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN = "CANARIES_RUN"
"""Where the folder of the whole run is, for its workers."""
LATE = "late.txt"


def register(config: pytest.Config) -> None:
    """Begin to listen."""
    leads = not hasattr(config, "workerinput")
    if leads:
        os.environ[_RUN] = tempfile.mkdtemp(prefix="canaries-")
    config.pluginmanager.register(Canaries(Path(os.environ[_RUN]), leads=leads))


class Canaries:
    """One process of a run."""

    def __init__(self, run: Path, *, leads: bool) -> None:
        self._run, self._leads = run, leads
        run.chmod(0o755)
        folder = run / (os.environ.get("PYTEST_XDIST_WORKER") or "alone")
        folder.mkdir(exist_ok=True)
        folder.chmod(0o1777)  # another user's process speaks too
        self._children = children.Children(folder)
        self._children.listen()
        planting.plant_all()
        hearing.listen_to_logs()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Look when all that a test opened is closed."""
        try:
            yield
        finally:
            for when, name, text in item._report_sections:
                if name == "stderr":
                    hearing.listen(text, f"standard error, at its {when}")
            found = self._heard()
        if found:
            pytest.fail("\n".join(["nothing of mail may be said there:", *found]), pytrace=False)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look at what was said after the last test, in every process."""
        late = self._run / LATE
        if found := self._heard():
            with late.open("a") as file:
                file.writelines(f"{line}\n" for line in found)
        if self._leads and late.exists():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was heard late."""
        late = self._run / LATE
        if late.exists():
            terminalreporter.section("nothing of mail may be said, and after the last test there was")
            terminalreporter.write(late.read_text())

    def pytest_unconfigure(self) -> None:
        """Take the folder away."""
        if self._leads:
            shutil.rmtree(self._run, ignore_errors=True)

    def _heard(self) -> list[str]:
        self._children.hear()
        return hearing.taken()
