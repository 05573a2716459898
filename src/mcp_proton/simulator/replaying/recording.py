"""Conversations recorded with a real Bridge: their YAML read into steps, and what they say is there beforehand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DOMAIN = "proton.local"
_RUN = re.compile(r"\{(.)\*(\d+)\}")


class NotARecordingError(ValueError):
    """The file isn't a recording; the text says why."""


@dataclass(frozen=True)
class Step:
    """One step: its number in the file (from 1) and what stands there."""

    number: int
    content: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def get(self, key: str, default: Any = None) -> Any:
        """A value of the step, or a default."""
        return self.content.get(key, default)

    def __contains__(self, key: str) -> bool:
        return key in self.content


@dataclass(frozen=True)
class Recording:
    """A conversation: what is given, and the steps."""

    path: Path
    users: list[GivenUser]
    steps: list[Step]
    mode: str = "combined"
    environment: dict[str, str] = field(default_factory=dict)


def load(path: Path) -> Recording:
    """Read a recording; raises NotARecordingError for anything else."""
    try:
        # The C loader is as safe as the other and ten times as fast.
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise NotARecordingError(f"{path}: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
        raise NotARecordingError(f"{path}: no steps in it")
    given = document.get("given") or {}
    return Recording(
        path=path,
        users=_users(given),
        steps=[Step(number, content) for number, content in enumerate(document["steps"], 1)],
        mode=str(given.get("mode", "combined")),
        environment={str(key): str(value) for key, value in (given.get("environment") or {}).items()},
    )


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _users(given: Mapping[str, Any]) -> list[GivenUser]:
    users: list[GivenUser] = []
    for written in str(given.get("users", "alice:alice")).split(";"):
        name, _, addresses = written.partition(":")
        users.append(GivenUser(name, [_address(one) for one in [*addresses.split(",")] if one], signed_in=not users))
    users[0].labels = [_label(one) for one in given.get("labels") or []]
    for written in given.get("messages") or []:
        users[0].messages += message_series(written)
    return users


def _address(short: str) -> str:
    return short if "@" in short else f"{short}@{DOMAIN}"


def _label(written: str | Mapping[str, Any]) -> GivenLabel:
    if isinstance(written, str):
        return GivenLabel.from_path(written)
    return GivenLabel(
        str(written["name"]), folder=written.get("type") == "folder", parent=str(written.get("parent") or "")
    )


def message_series(written: Mapping[str, Any]) -> list[GivenMessage]:
    """The messages an entry of `messages` stands for: one, or a `bulk` of them."""
    if "bulk" in written:
        return _bulk(written["bulk"])
    return [given_message(written)]


def given_message(written: Mapping[str, Any]) -> GivenMessage:
    """A message as recordings write it."""
    text = str(written.get("raw", ""))
    raw = text.encode("latin-1" if written.get("encoding") == "latin-1" else "utf-8")
    time = written.get("time")
    return GivenMessage(
        raw=raw,
        places=tuple(written.get("in") or ()),
        flags=tuple(_flag(one) for one in written.get("flags") or ["received"]),
        unread=bool(written.get("unread", True)),
        key=str(written.get("key", "")),
        time=None if time is None else float(time),
        address=str(written.get("address", "")),
        origin="imported" if written.get("mode") == "import" else "delivered",
    )


def _flag(written: str) -> str:
    return "scheduled" if str(written).lower() == "0x100000" else str(written)


def _bulk(bulk: Mapping[str, Any]) -> list[GivenMessage]:
    # Of every ten messages of a bulk one is unread (recording sync-in-progress).
    count, size = int(bulk["count"]), int(bulk.get("size", 300))
    made: list[GivenMessage] = []
    for number in range(count):
        text = (f"Text number {number} and some more words. " * (size // 20 + 1))[:size]
        raw = (
            f"From: Bob <bob@example.com>\nTo: Alice <alice@{DOMAIN}>\nSubject: Bulk {number}\n"
            f"Date: Mon, 02 Jan 2023 10:00:00 +0000\nMessage-ID: <bulk{number}@example.com>\n\n{text}\n"
        )
        places = tuple(bulk.get("in") or ("inbox",))
        made.append(GivenMessage(raw.encode(), places, unread=number % 10 == 0, key=f"bulk{number}"))
    return made


def expand_runs(text: str) -> str:
    """Write out `{x*9}`."""
    return _RUN.sub(lambda match: match.group(1) * int(match.group(2)), text)
