"""What the stand-in model says, step by step: `Call` uses a tool, `Say` ends the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """Use `tool`, named as the server names it. Arguments may be made from the results so far, oldest first."""

    tool: str
    arguments: Arguments | Callable[[Sequence[str]], Arguments]

    def filled(self, results: Sequence[str]) -> Arguments:
        return self.arguments(results) if callable(self.arguments) else self.arguments


@dataclass(frozen=True, slots=True)
class Say:
    """Answer the user; `{last}` stands for the last result."""

    text: str

    def filled(self, results: Sequence[str]) -> str:
        return self.text.replace("{last}", results[-1] if results else "")


Step = Call | Say


@dataclass(frozen=True, slots=True)
class Exchange:
    """One tool call as the model saw it: the arguments it gave, the text it got back."""

    tool: str
    arguments: Arguments
    result: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """One turn of the agent: what it printed for its user, what it called, which tools it showed the model."""

    answer: str
    exchanges: tuple[Exchange, ...]
    tools: Mapping[str, Mapping[str, Any]]
    errors: str

    def results(self, tool: str) -> list[str]:
        return [exchange.result for exchange in self.exchanges if exchange.tool.endswith(tool)]
