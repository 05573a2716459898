"""Recorded replies against those of a replay: named parts are bound as they are met, free orders are set aside."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PLACEHOLDER = re.compile(
    r"\{(v\d+|id:[^}]*|gluon\d*|u\d+|n|session|b\d+|now|api|file|user|password|plain|pass64|.\*\d+|the gluon id of [^}]+)\}",
    re.DOTALL,
)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SHAPES = {
    "v": r"\d+", "id": _UUID, "gluon": _UUID, "u": r"[^\s<>@\"/]+", "n": r"\d+", "session": r"\d+", "b": r"[0-9a-f]+",
    "now": r"[^\r\n]{10,60}?", "api": r"[^/\s]+", "file": r"\S+",
}  # fmt: skip
_UNBOUND = frozenset({"n", "session", "now", "api", "file"})
_DISTINCT = frozenset({"v", "id"})
_LITERAL = re.compile(rb"\{(\d+)\}\r\n$")
_NUMBERED_FETCH = re.compile(r"\* (\d+) FETCH ")
_BROKEN_ID = re.compile(r"(?<=cid:)([0-9a-f-]*)=\r\n([0-9a-f-]*)(?=\")")
_AUTH = "250-AUTH "
CLOSED = "(connection closed)"


@dataclass
class Names:
    """The values of named parts, as far as they are known.

    Bridge counts UIDVALIDITY from the clock and forgets at a restart which number it gave last, so that a mailbox can get
    one that another had before: a name that was bound before such a moment, and elsewhere, may stand for a new number.
    """

    values: dict[str, str] = field(default_factory=dict)
    _bound: dict[str, tuple[int, str]] = field(default_factory=dict)
    _beginnings: int = 0

    def numbers_begin_anew(self) -> None:
        """From now on UIDVALIDITYs may be given a second time."""
        self._beginnings += 1

    def fill(self, text: str) -> str:
        """Put known values into something to be sent; what isn't known stays as it is."""

        def value(match: re.Match[str]) -> str:
            name = match.group(1)
            if name[1:2] == "*":
                return name[0] * int(name[2:])
            return self.values.get(name, match.group())

        return _PLACEHOLDER.sub(value, text)

    def matches(self, expected: str, actual: str, mailbox: str = "") -> bool:
        """Whether a reply about a mailbox fits a recorded one; binds the names it shows for the first time."""
        # Names stand also for ids that quoted-printable broke in two.
        whole = _BROKEN_ID.sub(r"\1\2", actual)
        if self._matches(expected, whole, mailbox, frozenset()):
            return True
        outdated = self._outdated(expected, mailbox)
        return bool(outdated) and self._matches(expected, whole, mailbox, outdated)

    def _outdated(self, expected: str, mailbox: str) -> frozenset[str]:
        shown = {match.group(1) for match in _PLACEHOLDER.finditer(expected)}
        return frozenset(
            name
            for name in shown & self._bound.keys()
            if self._bound[name][0] < self._beginnings and mailbox not in ("", self._bound[name][1])
        )

    def _matches(self, expected: str, actual: str, mailbox: str, outdated: frozenset[str]) -> bool:
        groups: dict[str, str] = {}
        found = re.compile(self._pattern(expected, groups, outdated), re.DOTALL).fullmatch(actual)
        if found is None:
            return False
        new = {name: found.group(group) for name, group in groups.items()}
        if any(self._is_taken(name, value) for name, value in new.items()):
            return False
        self.values.update(new)
        self._bound.update((name, (self._beginnings, mailbox)) for name in new if _shape(name) == "v")
        return True

    def _pattern(self, expected: str, groups: dict[str, str], outdated: frozenset[str]) -> str:
        parts: list[str] = []
        end = 0
        for match in _PLACEHOLDER.finditer(expected):
            parts.append(re.escape(expected[end : match.start()]))
            parts.append(self._one(match.group(1), groups, outdated))
            end = match.end()
        return "".join([*parts, re.escape(expected[end:])])

    def _one(self, name: str, groups: dict[str, str], outdated: frozenset[str]) -> str:
        if name[1:2] == "*":
            return f"{re.escape(name[0])}{{{int(name[2:])}}}"
        shape = _shape(name)
        if shape in _UNBOUND:
            return _SHAPES[shape]
        if name in groups:
            # An engine id that isn't met again is just `gluon`; the last one seen may be sent back.
            return _UUID if name == "gluon" else f"(?P={groups[name]})"
        if name in self.values and name != "gluon" and name not in outdated:
            return re.escape(self.values[name])
        groups[name] = f"g{len(groups)}"
        return f"(?P<{groups[name]}>{_SHAPES[shape]})"

    def _is_taken(self, name: str, value: str) -> bool:
        shape = _shape(name)
        others = (known for other, known in self.values.items() if other != name and _shape(other) == shape)
        return shape in _DISTINCT and value in others


def _shape(name: str) -> str:
    return name.split(":")[0] if name.startswith("id:") else name.rstrip("0123456789")


def responses(data: bytes) -> list[str]:
    """The responses in a stretch of what a server sent, literals kept in theirs, bytes read as latin-1."""
    found: list[str] = []
    position = 0
    while position < len(data):
        end = _response_end(data, position)
        found.append(data[position:end].removesuffix(b"\r\n").decode("latin-1"))
        position = end
    return found


def _response_end(data: bytes, start: int) -> int:
    position = start
    while True:
        line_end = data.find(b"\r\n", position)
        if line_end < 0:
            return len(data)
        literal = _LITERAL.search(data, position, line_end + 2) if data.startswith(b"* ", start) else None
        if literal is None:
            return line_end + 2
        position = line_end + 2 + int(literal.group(1))


def in_order(lines: list[str]) -> list[str]:
    """Lines with what may come in any order sorted: LIST and LSUB by name, FETCH by number within its run, AUTH's words."""
    ordered: list[str] = []
    run: list[str] = []
    for line in [*lines, ""]:
        if run and (line == "" or _kind(line) != _kind(run[0])):
            ordered += sorted(run, key=_key)
            run = []
        if _kind(line):
            run.append(line)
        elif line.startswith(_AUTH):
            ordered.append(_AUTH + " ".join(sorted(line.removeprefix(_AUTH).split())))
        else:
            ordered.append(line)
    return ordered[:-1]


def _kind(line: str) -> str:
    if _NUMBERED_FETCH.match(line):
        return "FETCH"
    return line[2:6] if line.startswith(("* LIST ", "* LSUB ")) else ""


def _key(line: str) -> tuple[int, str]:
    number = _NUMBERED_FETCH.match(line)
    return (int(number.group(1)), "") if number else (0, line.rpartition(' "/" ')[2])
