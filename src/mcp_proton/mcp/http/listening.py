"""Sockets to listen on: a TCP port, or a Unix domain socket that only the owner (and one group) may connect to."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.config.serving import Place

_BACKLOG = 128


@dataclass(frozen=True)
class Listening:
    """A socket that listens; `path` is the name of a Unix domain socket, which goes with it."""

    socket: socket.socket
    path: Path | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if self.socket.family == socket.AF_INET6 else f"http://{host}:{port}"

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def opened(place: Place, group: str | None = None) -> Listening:
    """Listen somewhere. Raises `Unavailable` that says what is in the way."""
    try:
        return Listening(_tcp(place)) if place.path is None else Listening(_unix(place.path, group), place.path)
    except LookupError:
        raise _no_use(place, f"there is no group `{group}`") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _no_use(place, "something listens there already") from None
        raise _no_use(place, error.strerror or str(error)) from None


def _tcp(place: Place) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    made.setblocking(False)
    return made


def _unix(path: Path, group: str | None) -> socket.socket:
    """Bind under a name nobody knows, set who may connect, then put it in place: it is never open to more than that."""
    _make_room(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    hidden.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(hidden))
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    try:
        if group is not None:
            shutil.chown(hidden, group=int(group) if group.isdigit() else group)
            hidden.chmod(0o660)
        made.listen(_BACKLOG)
        hidden.rename(path)
    except BaseException:
        made.close()
        hidden.unlink(missing_ok=True)
        raise
    made.setblocking(False)
    return made


def _make_room(path: Path) -> None:
    """Take away a socket that nobody listens on any more; anything else that has the name is left alone."""
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise FileExistsError(errno.EEXIST, "a file of that name is there already")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, "in use")


def _no_use(place: Place, why: str) -> Unavailable:
    return Unavailable(
        f"cannot listen on {place} ({why})",
        code="cannot_listen",
        next="end what listens there, or choose another `listen` in `[service]` of config.toml",
    )
