"""A header that is changed the way Bridge changes one: a field set anew moves to the top, all others stay as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.texts.go_text import octets, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.simulator.texts.sections import Section

_SOFT = 76
_HARD = 998


class Header:
    """An ordered header of unfolded values; names compare without case."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        # The last field is the top one, so that setting is cheap; a field kept verbatim is never folded.
        self._fields = [(name.lower(), name, value, True) for name, value in fields][::-1]

    def get(self, name: str) -> str | None:
        """The topmost value of that name."""
        low = name.lower()
        for known, _, value, _ in reversed(self._fields):
            if known == low:
                return value
        return None

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def set(self, name: str, value: str) -> None:
        """Remove every field of that name and put this one at the top."""
        self.remove(name)
        self._fields.append((name.lower(), name, value, False))

    def set_if_other(self, name: str, value: str) -> None:
        """`set`, unless the topmost value is this one already."""
        if self.get(name) != value:
            self.set(name, value)

    def remove(self, name: str) -> None:
        """Remove every field of that name."""
        low = name.lower()
        if low in self:
            self._fields = [field for field in self._fields if field[0] != low]

    def __bytes__(self) -> bytes:
        lines = [
            f"{name}: {value}\r\n" if verbatim else fold(name, value)
            for _, name, value, verbatim in reversed(self._fields)
        ]
        return octets("".join(lines)) + b"\r\n"


def gathered(message: Section) -> list[tuple[str, str]]:
    """Fields as Proton's API hands them out: unfolded, those of one spelling together at the first one's place."""
    together: dict[str, list[str]] = {}
    for field in message.fields:
        if field.name:
            spelling = field.raw.partition(b":")[0].decode("ascii", "replace")
            together.setdefault(spelling, []).append(field.value)
    return [(name, value) for name, values in together.items() for value in values]


def canonical(name: str) -> str:
    """A name as Go spells it: `message-id` is `Message-Id`."""
    return "-".join(word[:1].upper() + word[1:].lower() for word in name.split("-"))


def fold(name: str, value: str) -> str:
    """One field with its line end, folded at blanks before column 77 where there are any (go-message's way)."""
    line = f"{name}: "
    if not value:
        return line + "\r\n"
    # Go counts bytes.
    rest = octets(value).decode("latin-1")
    result = ""
    used = len(line)
    while rest:
        cut = _cut(rest, _SOFT - used)
        if cut is None:
            cut = _cut(rest, _HARD - used) or _HARD - used - 1
        result += line + rest[:cut] + "\r\n"
        line = "" if rest[cut : cut + 1] in (" ", "\t", "") else " "
        rest = rest[cut:]
        used = 0
    return text(result.encode("latin-1"))


def _cut(value: str, room: int) -> int | None:
    """Where a line of at most `room` characters ends; None if there is no blank to break at."""
    if len(value) <= room:
        return len(value)
    at = max(value.rfind(" ", 1, room + 1), value.rfind("\t", 1, room + 1))
    return at if at > 0 else None
