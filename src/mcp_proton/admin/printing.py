"""How answers look: JSON when asked, plain lines for a pipe, tables and colour when a person looks.

Text from mail was neutralised before it came here; control characters are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .exits import Exit, of_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AsJson = Annotated[bool, Parameter(name="--json", negative="", help="print the answer as one JSON value")]
_TELLING = ("why", "next", "code", "operation_id", "expires_at", "summary", "cursor", "state")


class Printer:
    """Prints answers to standard output and remarks to standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
        self._remarks = Console(stderr=True, highlight=False, soft_wrap=True)

    def answer(self, answer: Mapping[str, Any]) -> Exit:
        """Print one answer of the door and return its exit code."""
        status = str(answer["status"])
        if self.as_json:
            self.json(answer)
            return of_status(status)
        for name, value in answer.items():
            if name not in ("status", "untrusted", *_TELLING):
                self._field(name, value)
        if status != "ok":
            self.line(
                f"{status.replace('_', ' ')}: {answer.get('why', answer.get('summary', ''))}", style="bold yellow"
            )
        for name in _TELLING:
            if answer.get(name) and not (name == "why" and status != "ok"):
                self.line(f"{name.replace('_', ' ')}: {answer[name]}", style="dim")
        return of_status(status)

    def json(self, value: Any) -> None:
        """Print one JSON value on one line."""
        sys.stdout.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")

    def line(self, text: str, *, style: str = "") -> None:
        """Print one line."""
        self.out.print(Text(_shown(text), style=style if self.out.is_terminal else ""))

    def remark(self, text: str) -> None:
        """Say something beside the answer."""
        self._remarks.print(Text(_shown(text)))

    def table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows as a table for a person, tab-separated under their names for a pipe."""
        columns = list(dict.fromkeys(name for row in rows for name in row))
        if not self.out.is_terminal:
            if rows:
                self.line("\t".join(columns))
            for row in rows:
                self.line("\t".join(_cell(row.get(name)) for name in columns))
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in columns:
            table.add_column(name.replace("_", " "), overflow="fold")
        for row in rows:
            table.add_row(*(Text(_cell(row.get(name))) for name in columns))
        self.out.print(table)

    def _field(self, name: str, value: Any) -> None:
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            self.table(value)
        elif isinstance(value, str) and ("\n" in value or len(value) > 100):
            self.line(f"{name.replace('_', ' ')}:", style="bold")
            for one in value.splitlines():
                self.line("  " + one)
        else:
            self.line(f"{name.replace('_', ' ')}: {_cell(value)}")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_cell(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(one)}" for name, one in value.items())
    return _shown(str(value)).replace("\t", " ").replace("\n", " ")


def _shown(text: str) -> str:
    """Make control characters visible: a terminal obeys escape sequences, wherever they come from."""
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
