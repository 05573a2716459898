"""Server-sent events out of octets (WHATWG HTML §9.2.6): bounded, whatever comes; what is no event is passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.jmap.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 256 * 1024
"""octets of one event"""
_END_OF_LINE = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `id` is the last one told so far, to go on from."""

    kind: str
    data: str
    id: str


class Events:
    """Reads one stream."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._held = b""
        self._kind, self._size = "", 0
        self._data: list[str] = []

    def feed(self, octets: bytes) -> Iterator[Event]:
        """Yield the events that are whole by now. Raises `LimitExceeded` for one that is out of proportion."""
        self._held += octets
        # A CR at the very end may be half of a CRLF: it waits for what follows.
        whole = self._held[:-1] if self._held.endswith(b"\r") else self._held
        *lines, rest = _END_OF_LINE.split(whole)
        self._held = rest + self._held[len(whole) :]
        if len(self._held) > LARGEST:
            raise LimitExceeded("the mail server sends an event that has no end")
        for line in lines:
            if event := self._line(line):
                yield event

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._whole()
        self._size += len(line)
        if self._size > LARGEST:
            raise LimitExceeded("the mail server sends an event that is too large")
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self.last_id = value
        return None

    def _whole(self) -> Event | None:
        found = Event(self._kind or "message", "\n".join(self._data), self.last_id) if self._data else None
        self._kind, self._data, self._size = "", [], 0
        return found
