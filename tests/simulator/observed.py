"""What a real Bridge was seen to serve: FETCH items of recordings beside the original text of their messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from mcp_proton.simulator.proton.literal import serve
from mcp_proton.simulator.texts.dates import parse_date

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDINGS = Path(__file__).parent / "recordings"
GLUON = "9" * 36
APPENDED_AT = datetime(2023, 1, 2, 10, tzinfo=UTC)
# Steps after which a recording's mailboxes no longer hold what they were given.
_CHANGES = ("elsewhere", "bridge restarts", "mode", "bridge")
_CHANGING = re.compile(r"(?:UID )?(?:MOVE|COPY|EXPUNGE)|EXPUNGE|CLOSE", re.IGNORECASE)


@dataclass(frozen=True)
class Original:
    """A message as it was given to the account or appended by a client."""

    key: str
    raw: bytes
    places: tuple[str, ...]
    delivered: bool
    appended: bool
    draft: bool
    time: datetime

    @property
    def internal_id(self) -> str:
        return f"{self.key:-<36.36}"

    def served(self) -> bytes:
        return serve(
            self.raw,
            delivered=self.delivered,
            appended=self.appended,
            draft=self.draft,
            internal_id=self.internal_id,
            gluon_id=GLUON,
            api_time=self.time,
        )


@dataclass(frozen=True)
class Item:
    """One item of a FETCH response: its name as printed, and the bytes Bridge sent for it; or a refusal's text."""

    name: str
    value: bytes
    original: Original
    refused: bool = False


@cache
def items(recording: str) -> tuple[Item, ...]:
    """Everything a recording shows of its messages until somebody else changes them."""
    return tuple(_items(yaml.safe_load((RECORDINGS / f"{recording}.yaml").read_text("utf-8"))))


def names(*prefixes: str) -> list[str]:
    """Recordings that begin so and show something."""
    found = sorted(path.stem for path in RECORDINGS.glob("*.yaml") if path.stem.startswith(prefixes))
    return [name for name in found if items(name)]


def neutral(data: bytes) -> bytes:
    """Without what Bridge is free to choose: boundaries and the ids it invents."""
    data = re.sub(rb"\b[0-9a-f]{64}\b", b"B" * 64, data)
    data = re.sub(rb"\b[0-9a-f]{60}\b", b"B" * 60, data)
    return re.sub(rb"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", b"U" * 36, data)


def _items(recording: dict[str, Any]) -> Iterator[Item]:
    boxes = _Mailboxes([_given(message) for message in recording["given"].get("messages") or [] if "raw" in message])
    for step in recording["steps"]:
        command = step.get("send", "")
        if any(change in step for change in _CHANGES) or _CHANGING.match(command):
            return
        if command.upper().startswith("APPEND ") and "literal" in step:
            boxes.append(command.split(" ")[1].strip('"'), step["literal"])
        if match := re.match(r"(?:SELECT|EXAMINE) (.+)", command, re.IGNORECASE):
            boxes.selected = match[1].strip('"')
        for reply in step.get("got") or []:
            yield from _of_reply(str(reply), command, boxes)


class _Mailboxes:
    """Which message is which number, by the rules of the first sync: the last given is the first."""

    def __init__(self, given: list[Original]) -> None:
        self._given = given
        self._appended: list[tuple[str, Original]] = []
        self.selected = "INBOX"

    def append(self, mailbox: str, literal: str) -> None:
        original = Original(
            key=f"appended-{len(self._appended)}",
            raw=_bytes(literal, latin=_is_latin(literal)),
            places=(),
            delivered=False,
            appended=True,
            draft=mailbox == "Drafts",
            time=APPENDED_AT,
        )
        self._appended.append((mailbox, original))

    def message(self, number: int) -> Original | None:
        name = self.selected.lower()
        here = [
            original
            for original in reversed(self._given)
            if name == "all mail" or name in (place.lower() for place in original.places)
        ]
        here += [original for mailbox, original in self._appended if mailbox.lower() == name]
        return here[number - 1] if 0 < number <= len(here) else None


def _given(message: dict[str, Any]) -> Original:
    raw = _bytes(message["raw"], latin=message.get("encoding") == "latin-1")
    date = re.search(rb"(?im)^Date: *(.*)\r$", raw)
    moment = parse_date(date[1].decode("latin-1"), 2023) if date else None
    if "time" in message:
        moment = datetime.fromtimestamp(message["time"], UTC)
    return Original(
        key=message["key"],
        raw=raw,
        places=tuple(message["in"]),
        delivered=message.get("mode") != "import",
        appended=False,
        draft="draft" in (message.get("flags") or []),
        time=moment or APPENDED_AT,
    )


def _is_latin(literal: str) -> bool:
    return all(char < "\u0100" for char in literal)


def _bytes(text: str, *, latin: bool) -> bytes:
    text = re.sub(r"\{(.)\*(\d+)\}", lambda run: run[1] * int(run[2]), text)
    return text.replace("\r\n", "\n").replace("\n", "\r\n").encode("latin-1" if latin else "utf-8")


def _of_reply(reply: str, command: str, boxes: _Mailboxes) -> Iterator[Item]:
    refusal = re.match(r"\w+ NO (no such parts exists|invalid part index)", reply)
    target = re.match(r"(?:UID )?FETCH (\d+) \(?BODY(?:\.PEEK)?\[(.*)\]\)?$", command, re.IGNORECASE)
    if refusal and target and (original := boxes.message(int(target[1]))):
        yield Item(f"BODY[{target[2]}]", refusal[1].encode(), original, refused=True)
    match = re.match(r"\* (\d+) FETCH \(", reply)
    if not match or (original := boxes.message(int(match[1]))) is None:
        return
    for length in (64, 60):
        try:
            found = list(_parsed(_named(reply[match.end() :], original, length)))
        except _OddLength:
            continue
        yield from (Item(name, value, original) for name, value in found)
        return
    raise AssertionError(f"a response that can't be read: {reply[:200]}")


def _named(text: str, original: Original, boundary_length: int) -> bytes:
    text = re.sub(r"\{(.)\*(\d+)\}", lambda run: run[1] * int(run[2]), text)
    text = re.sub(r"\{gluon\d*\}", GLUON, text)
    text = re.sub(r"\{id:\w+\}", original.internal_id, text)
    text = re.sub(r"\{b\d+\}", "B" * boundary_length, text)
    text = re.sub(r"\{u\d+\}", "U" * 36, text)
    return text.replace("{now}", "Mon, 02 Jan 2023 10:00:00 +0000").encode("latin-1")


class _OddLength(Exception):
    """A literal that doesn't end where it should."""


def _parsed(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while not data.startswith(b")", at):
        name = re.compile(rb"[A-Z0-9.]+(?:\[[^\]]*\])?(?:<\d+>)? ").match(data, at)
        if not name:
            raise _OddLength
        start = name.end()
        if literal := re.compile(rb"\{(\d+)\}\r\n").match(data, start):
            at = literal.end() + int(literal[1])
            value = data[literal.end() : at]
        else:
            at = _value_end(data, start)
            value = data[start:at]
        yield name[0][:-1].decode("latin-1"), value
        at += data.startswith(b" ", at)


def _value_end(data: bytes, at: int) -> int:
    """After an atom, a quoted string or a list."""
    depth = 0
    while True:
        token = re.compile(rb'"(?:[^"\\]|\\.)*"|[()]|[^ ()"]+| ').match(data, at)
        if token is None:
            raise _OddLength
        depth += {b"(": 1, b")": -1}.get(token[0], 0)
        if depth < 0 or (depth == 0 and token[0] == b" "):
            return at
        at = token.end()
        if depth == 0 and not data.startswith(b'"', at):
            return at
