"""The owner's policy file, read again whenever it changes. An edit that breaks it never takes the rules away.

While the file is broken the last good policy stays in force, `problem` says what is wrong, and that holds over a
restart: a copy of the last good text is kept in the state folder. A file that is gone is an edit too: no preset is
chosen then, and nothing is allowed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.storage.access.tomllines import Lines, parse
from mcp_proton.storage.files import read_owned, stamp, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp_proton.domain.limits import Switches
    from mcp_proton.storage.files import Stamp

P = TypeVar("P")
Q = TypeVar("Q", covariant=True)


class PolicyFile(Generic[P]):
    """A policy file. `read` turns the document into a policy or raises `Misconfigured`; `nothing` is the policy of no file."""

    def __init__(self, path: Path, last_good: Path, read: Callable[[Mapping[str, object]], P], nothing: P) -> None:
        self.problem: str | None = None
        self._path = path
        self._last_good = last_good
        self._read = read
        self._nothing = nothing
        self._policy: P = nothing
        self._seen: Stamp | None = None
        self._started = False

    def current(self) -> P:
        """Return the policy in force. Costs one look at the file while it does not change. Never raises."""
        found = stamp(self._path)
        if not self._started or found != self._seen:
            self._look_again()
            self._started = True
        return self._policy

    def _look_again(self) -> None:
        try:
            text, self._seen = read_owned(self._path)
        except FileNotFoundError:
            self._vanished()
        except (OSError, Misconfigured) as error:
            self._seen = stamp(self._path)
            self._broken(_told(error, self._path))
        else:
            self._take(text)

    def _take(self, text: str) -> None:
        try:
            self._policy = self._parsed(text)
        except Misconfigured as error:
            self._broken(str(error))
            return
        self.problem = None
        # A copy that cannot be kept matters only at the next start with a broken file, and then closes everything.
        with suppress(OSError):
            if not self._last_good.exists() or self._last_good.read_bytes() != text.encode():
                write_private(self._last_good, text.encode())

    def _parsed(self, text: str) -> P:
        document = parse(text, self._path.name)
        try:
            return self._read(document)
        except Misconfigured as error:
            raise error.located(self._path.name, Lines(text).of) from None

    def _broken(self, what: str) -> None:
        self.problem = what
        if self._started:
            return
        with suppress(OSError, Misconfigured):
            self._policy = self._parsed(read_owned(self._last_good)[0])

    def _vanished(self) -> None:
        self._seen = None
        self._policy = self._nothing
        self.problem = None
        with suppress(OSError):
            self._last_good.unlink(missing_ok=True)


class SwitchSource(Protocol):
    """What the owner switched at run time, from wherever it is kept."""

    async def current(self) -> Switches:
        """Return what is switched now. Costs a look at a file while nothing changed."""
        ...


class RulesSource(Protocol[Q]):
    """The owner's policy file, or what stands for it."""

    def current(self) -> Q:
        """Return the policy in force; the same object while nothing changed."""
        ...

    @property
    def problem(self) -> str | None:
        """What is wrong with the latest edit."""
        ...


class PolicyInForce(Generic[P]):
    """The policy file joined with what the owner switched at run time: the services' PolicySource."""

    def __init__(self, file: RulesSource[P], switches: SwitchSource, join: Callable[[P, Switches], P]) -> None:
        self._file = file
        self._switches = switches
        self._join = join
        self._joined: tuple[P, Switches, P] | None = None

    async def current(self) -> P:
        """Return one snapshot of both; the same object while neither changed."""
        policy, switches = self._file.current(), await self._switches.current()
        if self._joined is None or self._joined[0] is not policy or self._joined[1] is not switches:
            self._joined = (policy, switches, self._join(policy, switches))
        return self._joined[2]

    @property
    def problem(self) -> str | None:
        """What is wrong with the latest edit of the file."""
        return self._file.problem


def _told(error: OSError | Misconfigured, path: Path) -> str:
    return str(error) if isinstance(error, Misconfigured) else f"{path.name}: cannot be read ({error.strerror})"
