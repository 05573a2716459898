"""Answers with what is different at every run named by its first appearance, and what Bridge leaves open set in order."""

from __future__ import annotations

import re

from mcp_proton.simulator.replaying.matching import in_order

_NUMBER = re.compile(r"(UIDVALIDITY |COPYUID |APPENDUID )(\d+)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"in \d+ microsec")
_FLAGS = re.compile(r"(FLAGS \()([^)]*)\)")
_LITERAL = re.compile(r"(HEADER\]? \{)\d+\}")


class Naming:
    """The names one side's values have got."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def named(self, lines: list[str]) -> list[str]:
        """An answer that can be compared with the other side's."""
        return [self._one(line) for line in in_order(lines)]

    def _one(self, line: str) -> str:
        line = _TIME.sub("in {n} microsec", line)
        line = _NUMBER.sub(lambda match: match[1] + self._name("v", match[2]), line)
        line = _UUID.sub(lambda match: self._name("id", match[0]), line)
        return _FLAGS.sub(lambda match: f"{match[1]}{' '.join(sorted(match[2].split()))})", line)

    def _name(self, kind: str, value: str) -> str:
        return self._names.setdefault(value, f"{{{kind}{len(self._names)}}}")
