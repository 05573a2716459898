"""What the owner wrote and switched, as every process sees it now. Opens no database and no connection."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.config import folders as places
from mcp_proton.config.reading import load
from mcp_proton.policy.model import Policy
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.storage.access.policyfile import PolicyFile
from mcp_proton.storage.access.switchfile import SwitchFile
from mcp_proton.storage.access.tomllines import Lines, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proton.config.inforce import ConfigFile
    from mcp_proton.config.tables import Config
    from mcp_proton.domain.effects import Effect
    from mcp_proton.domain.limits import Switches
    from mcp_proton.storage.findings import FileFindings


@dataclass(frozen=True)
class Settings:
    """What the owner wrote, and where it is."""

    folders: places.Folders
    config: Config

    def reader(self) -> PolicyReader:
        """Return the reader of policy.toml: it knows the clients and accounts that may be named there."""
        return PolicyReader(
            Path.home(),
            resolve=lambda path: Path(os.path.realpath(path)),
            clients=self.config.clients,
            accounts=self.config.accounts,
        )

    def policy_file(self) -> PolicyFile[Policy]:
        """Return the policy file; before there is one nothing is allowed."""
        nothing = Policy(clients=frozenset(self.config.clients))
        return PolicyFile(self.folders.policy_file, self.folders.last_good_policy, self.reader().read, nothing)


@dataclass(frozen=True)
class InForce:
    """The rules as they hold now, and what is wrong with the latest edit."""

    current: Policy
    problem: str | None


class Rules:
    """The policy file, read with the clients that config.toml names now."""

    def __init__(self, found: Settings, config: ConfigFile) -> None:
        self._found = found
        self._config = config
        self._file = found.policy_file()

    def current(self) -> Policy:
        """Return the policy in force."""
        config = self._config.current()
        if config is not self._found.config:
            self._found = replace(self._found, config=config)
            self._file = self._found.policy_file()
        return self._file.current()

    def folders(self, effect: Effect) -> list[Path]:
        """Return the folders of this machine that the owner opened for an effect."""
        return [path for fence in self.current().fences for path in fence.folders.get(effect, ())]

    @property
    def problem(self) -> str | None:
        """What is wrong with the latest edit."""
        return self._file.problem


def settings(environ: Mapping[str, str]) -> Settings:
    """Read the configuration. Raises `Misconfigured` with file, line and key."""
    found = places.find(environ)
    return Settings(found, load(found.config_file, environ))


async def policy_in_force(found: Settings) -> InForce:
    """Return the rules as every process sees them now."""
    file = found.policy_file()
    policy = file.current()
    return InForce(policy.with_switches(await SwitchFile(switches_file(found)).current()), file.problem)


async def switches_now(found: Settings) -> Switches:
    """Return what the owner switched, as every process sees it."""
    return await SwitchFile(switches_file(found)).current()


def read_policy(found: Settings, file: Path) -> Policy:
    """Read a policy file that is not in force. Raises `Misconfigured`."""
    text = file.read_text(encoding="utf-8")
    return policy_check(found, file.name)(text)


def policy_check(found: Settings, name: str = "policy.toml") -> Callable[[str], Policy]:
    """Return what reads a policy's text, or raises `Misconfigured` with line and key."""
    from mcp_proton.domain.complaint import Misconfigured

    def check(text: str) -> Policy:
        try:
            return found.reader().read(parse(text, name))
        except Misconfigured as error:
            raise error.located(name, Lines(text).of) from None

    return check


def findings(found: Settings) -> FileFindings:
    """Return what trials showed of the owner's accounts."""
    from mcp_proton.storage.findings import FileFindings

    return FileFindings(found.folders.state / "findings")


def switches_file(found: Settings) -> Path:
    """Return the file in which the owner's switches stand for every process."""
    return found.folders.state / "switches.json"
