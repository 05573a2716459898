"""Vault: where passwords come from. The owner says it for each account; nothing is guessed and nothing is kept.

    keyring               the system's store: Secret Service, macOS Keychain or Windows Credential Locker, no other
    file:/run/secrets/x   the first line of a file that is the owner's alone (mode 0600 or narrower)
    systemd:NAME          a credential in $CREDENTIALS_DIRECTORY
    env:NAME              an environment variable
    command:pass show x   the first line a program prints; no shell

A password is never logged, never part of an error and never in a `repr`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.storage.files import write_private
from mcp_proton.storage.keyrings import system_keyring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proton.storage.keyrings import Keyring

_SERVICE = "mcp-proton"
_MOST = 64 << 10
_SECONDS = 30.0
_FAREWELL = 5.0
_SETUP = "run `mcp-proton setup` to store the password anew"

T = TypeVar("T")


class Vault:
    """Secrets by account. `sources` holds what the owner wrote as `secret` for each."""

    def __init__(
        self,
        sources: Mapping[str, str],
        environment: Mapping[str, str],
        *,
        keyring: Callable[[], Keyring] = system_keyring,
        seconds: float = _SECONDS,
    ) -> None:
        self._sources = dict(sources)
        self._environment = environment
        self._keyring = keyring
        self._seconds = seconds

    def __repr__(self) -> str:
        return f"Vault({', '.join(sorted(self._sources))})"

    async def secret(self, account: str) -> str:
        """Return the account's password. `AuthFailed` says where it was looked for and what to do."""
        source = self._sources.get(account)
        if source is None:
            raise AuthFailed(f"no password is known for account `{account}`", next=_SETUP)
        kind, _, where = source.partition(":")
        match kind:
            case "keyring":
                return await self._from_keyring(account, where or account)
            case "file":
                return _first_line(account, "the file", await self._within(account, lambda: _read_own(account, where)))
            case "systemd":
                return _first_line(
                    account, "the credential", await self._within(account, lambda: self._credential(account, where))
                )
            case "env":
                return _first_line(account, f"the variable `{where}`", self._environment.get(where, "").encode())
            case "command":
                return _first_line(account, "the command", await self._printed(account, where))
        raise AuthFailed(f"where the password of account `{account}` is cannot be understood", next=_SETUP)

    async def keep(self, account: str, secret: str) -> None:
        """Store a password where the owner wants it: possible for a keyring and a file, `AuthFailed` for others."""
        kind, _, where = self._sources.get(account, "").partition(":")
        if kind == "keyring":
            await self._on_keyring(account, lambda ring: ring.set_password(_SERVICE, where or account, secret))
        elif kind == "file":
            await self._within(account, lambda: write_private(_path(where), f"{secret}\n".encode()))
        else:
            raise AuthFailed(
                "a password can be stored in a keyring or a file only", next="store it where you said it is"
            )

    async def forget(self, account: str) -> None:
        """Delete a password that `keep` stored; one that is not there is gone already."""
        kind, _, where = self._sources.get(account, "").partition(":")
        if kind == "keyring":
            with suppress(AuthFailed):
                await self._on_keyring(account, lambda ring: ring.delete_password(_SERVICE, where or account))
        elif kind == "file":
            await self._within(account, lambda: _path(where).unlink(missing_ok=True))

    async def _from_keyring(self, account: str, name: str) -> str:
        found = await self._on_keyring(account, lambda ring: ring.get_password(_SERVICE, name))
        if not found:
            raise AuthFailed(f"the keyring holds no password for account `{account}`", next=_SETUP)
        return found

    async def _on_keyring(self, account: str, use: Callable[[Keyring], T]) -> T:
        return await self._within(account, lambda: use(self._keyring()), "the system's keyring cannot be used")

    def _credential(self, account: str, name: str) -> bytes:
        folder = self._environment.get("CREDENTIALS_DIRECTORY")
        if not folder or "/" in name or name in (".", ".."):
            raise AuthFailed(
                f"there is no credential for account `{account}`", next="set LoadCredential= in the service's unit"
            )
        with (Path(folder) / name).open("rb") as file:
            return file.read(_MOST)

    async def _within(self, account: str, work: Callable[[], T], trouble: str = "the password cannot be read") -> T:
        """Run blocking work with a deadline, in a thread that never holds up the end of the process."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def report(settle: Callable[[Any], None], value: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_unless_done, done, settle, value)

        def run() -> None:
            try:
                found = work()
            except BaseException as error:  # it is handed to whoever waits
                report(done.set_exception, error)
            else:
                report(done.set_result, found)

        threading.Thread(target=run, name=f"secret of {account}", daemon=True).start()
        try:
            return await asyncio.wait_for(done, self._seconds)
        except AuthFailed:
            raise
        except TimeoutError:
            raise AuthFailed(
                f"{trouble}: no answer in {self._seconds:.0f} s", next="unlock it, then try again"
            ) from None
        except Exception as error:
            raise AuthFailed(f"{trouble} for account `{account}` ({type(error).__name__})", next=_SETUP) from None

    async def _printed(self, account: str, command: str) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise AuthFailed(f"the command for account `{account}` cannot be run ({type(error).__name__})") from None
        try:
            return await asyncio.wait_for(_output(process, account), self._seconds)
        except TimeoutError:
            raise AuthFailed(f"the command for account `{account}` gave no answer in {self._seconds:.0f} s") from None
        finally:
            await _end(process)


async def _output(process: asyncio.subprocess.Process, account: str) -> bytes:
    printed = b""
    while process.stdout is not None and len(printed) < _MOST:
        chunk = await process.stdout.read(_MOST)
        if not chunk:
            break
        printed += chunk
    code = await process.wait() if len(printed) < _MOST else 1
    if code:
        raise AuthFailed(f"the command for account `{account}` did not give a password (it ended with {code})")
    return printed


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        # What it still had to say is read and dropped: a full pipe would keep the wait from ever ending.
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await process.communicate()


def _read_own(account: str, where: str) -> bytes:
    with _path(where).open("rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise AuthFailed(f"the password of account `{account}` is not in a file")
        if os.name == "posix":
            if found.st_uid not in (os.getuid(), 0):
                raise AuthFailed(f"the password file of account `{account}` belongs to somebody else")
            if found.st_mode & 0o077:
                mode = stat.S_IMODE(found.st_mode)
                raise AuthFailed(
                    f"the password file of account `{account}` is open to others (mode {mode:04o})", next="chmod 600 it"
                )
        return file.read(_MOST)


def _path(where: str) -> Path:
    path = Path(where).expanduser()
    if not path.is_absolute():
        raise AuthFailed("a password file must be named by an absolute path")
    return path


def _first_line(account: str, place: str, content: bytes) -> str:
    try:
        line = content.decode().partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        line = ""
    if not line:
        raise AuthFailed(f"{place} holds no password for account `{account}`", next=_SETUP)
    return line


def _unless_done(done: asyncio.Future[T], settle: Callable[[Any], None], value: Any) -> None:
    if not done.done():
        settle(value)
