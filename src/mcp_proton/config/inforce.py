"""ConfigFile: config.toml as it is now, for a process that lives long. An edit that breaks it changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.config.reading import load
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.storage.files import stamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_proton.config.tables import Config


class ConfigFile:
    """The configuration that was read first, then whatever the owner makes of it.

    Clients are let in and taken out at once, and people with their accounts. Other accounts, folders and places to listen at
    hold from the next start on.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], read: Config) -> None:
        self.problem: str | None = None
        self._path = path
        self._environment = environment
        self._config = read
        self._seen = stamp(path)

    def current(self) -> Config:
        """Return the configuration in force; the same object while the file does not change. Never raises."""
        found = stamp(self._path)
        if found != self._seen:
            self._seen = found
            self._look_again()
        return self._config

    def _look_again(self) -> None:
        try:
            self._config = load(self._path, self._environment)
        except Misconfigured as error:
            self.problem = str(error)
        else:
            self.problem = None
