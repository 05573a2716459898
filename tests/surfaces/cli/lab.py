"""Servers in threads of their own, and an owner who types commands in front of it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_proton import bootstrap
from mcp_proton.admin import cli
from mcp_proton.config import editing
from mcp_proton.config.folders import Folders
from tests.canaries import hearing
from tests.servers.jmap import JmapServer
from tests.servers.jmap.server import USER

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    import pytest

    from mcp_proton.simulator import Simulator

T = TypeVar("T")
MESSAGES = 40
CANARY = "canary-in-a-subject-7f3k"


class Elsewhere:
    """A server on an event loop of its own, in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        """Start the server, on that loop."""

    def __enter__(self) -> Self:
        self._thread.start()
        self.do(self.start())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


class Bridge(Elsewhere):
    """A simulated Bridge behind a real port. `with Bridge() as bridge`."""

    def __init__(self, *, port: int = 0, seed: int = 1) -> None:
        super().__init__()
        self._port, self._seed = port, seed
        self.simulator: Simulator

    async def start(self) -> None:
        made = bootstrap.simulated(messages=MESSAGES, port=self._port, seed=self._seed)
        self.simulator = await self._stack.enter_async_context(made)

    def call(self, change: Callable[[Simulator], object]) -> None:
        """Change something in the Bridge, on its own loop."""

        async def work() -> None:
            change(self.simulator)

        self.do(work())

    @property
    def port(self) -> int:
        return self.simulator.imap_port

    @property
    def username(self) -> str:
        return self.simulator.username

    @property
    def password(self) -> str:
        return self.simulator.password

    @property
    def fingerprint(self) -> str:
        return bootstrap.fingerprint(self.simulator.certificate_pem)

    def deliver(self, subject: str) -> None:
        """Bring a message in, and wait until Bridge shows it."""
        raw = f"From: Anna <anna@canary.example>\r\nTo: {self.username}\r\nSubject: {subject}\r\n\r\nHello.\r\n"
        self.call(lambda simulator: simulator.deliver(raw.encode()))
        self.call(lambda simulator: simulator.release_events())


class Jmap(Elsewhere):
    """The scripted JMAP server, with a few letters."""

    def __init__(self) -> None:
        super().__init__()
        self.server = JmapServer()

    async def start(self) -> None:
        await self._stack.enter_async_context(self.server)
        for number in range(3):
            raw = f"From: Anna <anna@example.org>\nTo: {USER}\nSubject: letter {number}\n\nHello.\n"
            self.server.store.add(raw.encode(), self.server.store.by_role("inbox").id)


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


class Owner:
    """The owner at a shell without a terminal, with a home folder of their own."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.folders = Folders.under(home)
        self._capsys = capsys

    def run(self, *words: str | Path) -> Said:
        """Run one command in this process."""
        self._capsys.readouterr()
        code = cli.run([str(word) for word in words])
        said = Said(int(code), *self._capsys.readouterr())
        hearing.listen(said.err, f"standard error of {' '.join(map(str, words[:2]))}")
        return said

    def json(self, *words: str | Path) -> dict[str, Any]:
        """Run one command with --json and read what it printed, which must be one value with a status."""
        said = self.run(*words, "--json")
        told = json.loads(said.out)
        assert isinstance(told, dict)
        assert told["status"]
        return told

    def connect(self, bridge: Bridge, *, preset: str = "assistant", password: str | None = None) -> None:
        """Write what `setup` would have written: an account `personal` and a client `hermes`."""
        secret = self.folders.state / "secrets" / "personal"
        self.keep_password(password or bridge.password)
        account: dict[str, editing.Value] = {
            "kind": "bridge",
            "imap_port": bridge.port,
            "smtp_port": bridge.simulator.smtp_port,
            "username": bridge.username,
            "secret": f"file:{secret}",
            "certificate": bridge.fingerprint,
        }
        editing.add_account(self.folders.config_file, "personal", account)
        editing.add_client(self.folders.config_file, "hermes", {"profile": "core"})
        self.write_policy(f'preset = "{preset}"\n')

    def keep_password(self, password: str) -> Path:
        """Put a password where `connect` says it is."""
        file = self.folders.state / "secrets" / "personal"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folders.state.chmod(0o700)
        file.write_text(f"{password}\n")
        file.chmod(0o600)
        return file

    def write_policy(self, text: str) -> None:
        """Edit policy.toml by hand."""
        _write(self.folders.policy_file, text)

    def write_config(self, text: str) -> None:
        """Edit config.toml by hand."""
        _write(self.folders.config_file, text)

    def file(self, name: str, text: str) -> Path:
        """Make a file of the owner's beside the home folder."""
        path = self.home.parent / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "MCP_PROTON_HOME": str(self.home)}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
