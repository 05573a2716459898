"""Where the owner's files are: the platform's folders, or everything under MCP_PROTON_HOME."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "mcp-proton"


@dataclass(frozen=True, slots=True)
class Folders:
    """Three folders. None of them is made by naming it."""

    config: Path
    state: Path
    cache: Path

    @classmethod
    def under(cls, home: Path) -> Folders:
        """Return the folders of a self-contained home."""
        return cls(home / "config", home / "state", home / "cache")

    @property
    def config_file(self) -> Path:
        """Accounts, clients, service and storage."""
        return self.config / "config.toml"

    @property
    def policy_file(self) -> Path:
        """The owner's rules."""
        return self.config / "policy.toml"

    @property
    def last_good_policy(self) -> Path:
        """The text of the last policy that could be used."""
        return self.state / "policy.last-good.toml"

    @property
    def database(self) -> Path:
        """The journal and everything else that is kept in tables."""
        return self.state / "mcp-proton.sqlite3"

    @property
    def artifacts(self) -> Path:
        """Octets held for agents."""
        return self.state / "artifacts"


def find(environment: Mapping[str, str]) -> Folders:
    """Return the folders for this user and environment."""
    home = environment.get("MCP_PROTON_HOME")
    if home:
        return Folders.under(Path(home).expanduser().absolute())
    return Folders(
        platformdirs.user_config_path(_NAME, appauthor=False),
        platformdirs.user_state_path(_NAME, appauthor=False),
        platformdirs.user_cache_path(_NAME, appauthor=False),
    )
