"""Proton's own IMAP engine as a server: gluon, with made-up accounts behind it that behave as Proton's do.

    with running() as server, server.bridge([GivenUser(...)]) as gluon:
        ...  # IMAP on 127.0.0.1, gluon.imap_port; gluon.username, gluon.password
        gluon.deliver(raw, key="new"); gluon.events(); gluon.state()
        gluon.fail("messages/label", status=422)

The engine is real, at the commit that Bridge 3.21.1 pins; account, API and Bridge's part are written from facts.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import ssl
from typing import TYPE_CHECKING, Any, Literal

import pytest

from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser
from tests.canaries import words
from tests.servers import gluon_build, process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

# Bridge waits 13, 15 and 17 s before it repeats a call that was answered 429 or 503.
_PACE = 0.01

Elsewhere = Literal[
    "make label", "change label", "delete label", "label", "unlabel", "mark read", "set flag", "edit", "delete",
    "address", "revoke", "refresh",
]  # fmt: skip
FaultMode = Literal["", "after", "drop", "after-drop", "delay"]


class OrderRefusedError(RuntimeError):
    """The program wouldn't do what it was told; the message is its own."""


class ProgramEndedError(RuntimeError):
    """The program is gone, as a Bridge's would be: the engine can be brought down by a command."""


# -- the server


class GluonServer:
    """The program running; each `bridge()` is a Bridge of its own, with its own port, accounts and databases."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        # Below the servers' own folder, because they run as a user who may not be able to see ours.
        copy = folder / "gluonserver"
        shutil.copy(gluon_build.build(), copy)
        (folder / "data").mkdir()
        process.hand_over(folder)
        (self._control,) = process.free_ports(1)
        self._process = process.ServerProcess(
            [copy, "-control", str(self._control), "-data", folder / "data"],
            folder, [self._control], environment or {},
        )  # fmt: skip

    def bridge(
        self,
        users: Sequence[GivenUser] | None = None,
        *,
        mode: Literal["combined", "split"] = "combined",
        model: Literal["fake", "real"] = "real",
        pace: float = _PACE,
    ) -> Gluon:
        """A Bridge with these accounts (one empty one by default), their first sync done.

        `model` is the account's: what Proton's fake API does, or the real one where it is known to differ. `pace` is
        how long Bridge's waits before it repeats a refused call last, as a share of the real ones.
        """
        return Gluon(self._control, users or [GivenUser("alice", ["alice@proton.local"])], mode, model, pace)

    def stop(self) -> None:
        """End the program; its sessions end with it."""
        self._process.stop()


class Gluon:
    """A Bridge on loopback (IMAP, STARTTLS) and the strings a test pulls. `user` is the first account by default."""

    host = process.LOOPBACK

    def __init__(self, control: int, users: Sequence[GivenUser], mode: str, model: str, pace: float) -> None:
        self._socket = socket.create_connection((process.LOOPBACK, control), timeout=120)
        self._lines = self._socket.makefile("rb")
        self._number = 0
        try:
            opened = self._order(
                "bridge", mode=mode, real=model == "real", pace=pace, users=[_user_written(user) for user in users]
            )
        except BaseException:
            self._hang_up()
            raise
        self._number = opened["bridge"]
        self.users: list[dict[str, Any]] = opened["users"]
        self.imap_port: int = opened["port"]
        self.username: str = self.users[0]["addresses"][0]
        self.password: str = self.users[0]["password"]
        self.certificate_sha256: str = opened["certificate_sha256"]
        self.certificate_pem = ssl.DER_cert_to_PEM_cert(base64.b64decode(opened["certificate"]))

    def __enter__(self) -> Gluon:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End this Bridge, its sessions and its files; nothing is left to do if the program has ended."""
        with contextlib.suppress(ProgramEndedError):
            self._order("close")
        self._hang_up()

    def _hang_up(self) -> None:
        self._lines.close()
        self._socket.close()

    def _order(self, do: str, **what: object) -> Any:
        written = json.dumps({"do": do, "bridge": self._number, **what}).encode() + b"\n"
        try:
            self._socket.sendall(written)
            line = self._lines.readline()
        except ConnectionError:
            line = b""
        if not line:
            raise ProgramEndedError(do)
        answer = json.loads(line)
        if "error" in answer:
            raise OrderRefusedError(f"{do}: {answer['error']}")
        return answer

    # -- the account, elsewhere

    def deliver(self, raw: bytes, *, user: str = "", **how: Any) -> str:
        """New mail reaches an account; the keywords are GivenMessage's. Returns its internal id."""
        found: str = self._order("deliver", user=user, **_message_written(GivenMessage(raw, **how)))["id"]
        return found

    def load(self, messages: Iterable[GivenMessage], *, user: str = "") -> None:
        """Many messages reach an account at once, in this order."""
        self._order("load", user=user, messages=[_message_written(message) for message in messages])

    def add_label(self, path: str, *, user: str = "") -> str:
        """Another device makes `Folders/…` or `Labels/…`. Returns its id."""
        found: str = self._order("make label", user=user, **_label_written(GivenLabel.from_path(path)))["id"]
        return found

    def elsewhere(self, what: Elsewhere, *keys: str, user: str = "", **how: object) -> None:
        """Another device changes the messages of these keys, or the account.

        `label` and `unlabel` take `to` (`trash`, `Labels/x`), `mark read` and `address` take `on`, `set flag` takes
        `flag` and `on`, `edit` takes `raw`; `change label` takes `path` and what is new (`name`, `parent`),
        `delete label` takes `path`.
        """
        if isinstance(raw := how.get("raw"), bytes):
            how["raw"] = base64.b64encode(raw).decode()
        self._order(what, user=user, keys=keys, **how)

    def state(self, user: str = "") -> dict[str, dict[str, Any]]:
        """The account's truth: each message's `id`, `in`, `flags`, `unread`, `subject`, `time`, by key (or id)."""
        found: dict[str, dict[str, Any]] = self._order("state", user=user)
        return found

    def labels(self, user: str = "") -> frozenset[str]:
        """The paths of the account's folders and labels."""
        return frozenset(self._order("labels", user=user)["paths"])

    # -- events and faults

    def events(self, user: str = "") -> None:
        """Bridge fetches and applies all events now; otherwise it does so only if `events_every` says so."""
        self._order("events", user=user)

    def events_every(self, seconds: float) -> None:
        """Let events come by themselves; 0 holds them back again."""
        self._order("tick", every=seconds)

    def fail(
        self, path: str, *, method: str = "", count: int = 1, status: int = 500, code: int = 2001,
        message: str = "lab failure", mode: FaultMode = "", delay: float = 0.0,
    ) -> None:  # fmt: skip
        """Make API calls fail: the next `count` (-1: all) whose path and method match these regular expressions.

        Modes: refused (default); `after`: done, then this answer; `drop`: connection broken, not done; `after-drop`:
        done, answer lost; `delay`: done after so many seconds.
        """
        fault = {
            "path": path, "method": method, "count": count, "status": status, "code": code, "message": message,
            "mode": mode, "delay": delay,
        }  # fmt: skip
        self._order("fail", fault=fault)

    def mend(self) -> None:
        """End all faults."""
        self._order("mend")

    def take_api_down(self) -> None:
        """The API answers 503 to everything until `mend`."""
        self._order("take down", on=True)

    def calls(self) -> list[str]:
        """What Bridge asked of the API since this was last asked, as `PUT /mail/v4/messages/label`."""
        found: list[str] = self._order("calls")["calls"]
        return found

    # -- what happens to Bridge

    def repair(self, user: str = "") -> None:
        """Everything is loaded anew: other UIDVALIDITYs, other UIDs; sessions end."""
        self._order("repair", user=user)

    def renumber(self, user: str = "") -> None:
        """Every mailbox gets a new UIDVALIDITY; sessions are told BYE at their next command."""
        self._order("renumber", user=user)

    def restart(self) -> None:
        """Bridge stops and starts on the same port: sessions end, UIDs and local flags stay."""
        self._order("restart")

    def sign_out(self, user: str = "") -> None:
        """The account signs out; its sessions end."""
        self._order("sign out", user=user)

    def sign_in(self, user: str = "") -> None:
        """The account signs in again."""
        self._order("sign in", user=user)

    def switch_mode(self, mode: Literal["combined", "split"]) -> None:
        """Another address mode: everything is loaded anew."""
        self._order("mode", mode=mode)

    def network(self, *, on: bool) -> None:
        """Lose or regain the network: without it the port is closed and all sessions end."""
        self._order("network", on=on)

    def show_all_mail(self, *, on: bool) -> None:
        """The owner's setting that hides All Mail from LIST."""
        self._order("show all mail", on=on)

    def offer_idle(self, *, on: bool) -> None:
        """Proton's feature flag behind the IDLE capability of new sessions."""
        self._order("offer idle", on=on)

    def withdraw_authenticate(self) -> None:
        """Proton's feature flag against AUTHENTICATE, which acts from the second start on."""
        self._order("withdraw authenticate")

    def empty_cache(self) -> None:
        """The engine's files of all messages are gone."""
        self._order("empty cache")


def _user_written(user: GivenUser) -> dict[str, object]:
    return {
        "name": user.name,
        "addresses": user.addresses,
        "labels": [_label_written(label) for label in user.labels],
        "messages": [_message_written(message) for message in user.messages],
        "signed_out": not user.signed_in,
    }


def _label_written(label: GivenLabel) -> dict[str, object]:
    return {"name": label.name, "folder": label.folder, "parent": label.parent}


def _message_written(message: GivenMessage) -> dict[str, object]:
    raw = message.raw() if callable(message.raw) else message.raw
    words.plant_mail(raw)
    return {
        "raw": base64.b64encode(raw).decode(), "in": message.places, "flags": message.flags, "unread": message.unread,
        "key": message.key, "time": message.time or 0, "address": message.address, "origin": message.origin,
    }  # fmt: skip


# -- for tests


@contextlib.contextmanager
def running(environment: Mapping[str, str] | None = None) -> Iterator[GluonServer]:
    """The program, built if need be, ended and its files gone at the end. `environment` may set TZ."""
    folder = process.make_folder()
    try:
        server = GluonServer(folder, environment)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def gluon_server() -> Iterator[GluonServer]:
    with running() as server:
        yield server


@pytest.fixture
def gluon(gluon_server: GluonServer) -> Iterator[Gluon]:
    with gluon_server.bridge() as one:
        yield one
