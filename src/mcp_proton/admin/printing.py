"""How answers look: JSON when asked, plain lines for a pipe, tables and colour when a person looks.

Text from mail was neutralised before it came here; control characters are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mcp_proton.admin.exits import Exit, of_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = Mapping[str, Any]

AsJson = Annotated[
    bool, Parameter(name="--json", negative="", help="print the answer as one JSON value", show_default=False)
]
_TELLING = ("why", "next", "code", "operation_id", "expires_at", "summary", "cursor", "state")
_TIMES = ("date", "at", "expires_at")
_COPIED = ("handle", "operation_id", *_TIMES)
"""columns that are copied or compared whole: never broken over lines"""
_COLOURS = {"ok": "green", "note": "cyan", "fix": "bold red", "skip": "dim"}
_LONG = 100
"""characters from which a text gets lines of its own"""
_WIDE = 60
"""characters of a cell from which a row reads better as lines than in a table"""


class Printer:
    """Prints answers to standard output and remarks to standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.for_person = sys.stdout.isatty()
        self._out = Console(highlight=False)

    def answer(self, answer: Row) -> Exit:
        """Print one answer of the door and return its exit code."""
        status = str(answer["status"])
        if self.as_json:
            self.json(answer)
            return of_status(status)
        for name, value in answer.items():
            if name not in ("status", "untrusted", *_TELLING):
                self._field(name, value)
        if status != "ok":
            self.line(f"{_words(status)}: {answer.get('why', answer.get('summary', ''))}", style="bold yellow")
        for name in _TELLING:
            if answer.get(name) and not (name == "why" and status != "ok"):
                self.line(f"{_words(name)}: {answer[name]}", style="dim")
        return of_status(status)

    def json(self, value: Any) -> None:
        """Print one JSON value on one line."""
        plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
        sys.stdout.write(json.dumps(value, ensure_ascii=plain, separators=(",", ":")) + "\n")

    def line(self, text: str, *, style: str = "") -> None:
        """Print one line; for a pipe exactly as it is."""
        if self.for_person:
            self._out.print(Text(shown(text), style=style))
        else:
            sys.stdout.write(f"{shown(text)}\n")

    def remark(self, text: str) -> None:
        """Say something beside the answer."""
        sys.stderr.write(f"{shown(text)}\n")

    def table(self, rows: Sequence[Row]) -> None:
        """Print rows as a table for a person, tab-separated under their names for a pipe."""
        columns = list(dict.fromkeys(name for row in rows for name in row))
        if not self.for_person:
            for cells in [columns, *([_cell(row.get(name)) for name in columns] for row in rows)] if rows else []:
                self.line("\t".join(cells))
            return
        said = [name for name in columns if any(_cell(row.get(name)) for row in rows)]
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for name in said:
            table.add_column(_words(name), overflow="fold", no_wrap=name in _COPIED)
        for row in rows:
            table.add_row(*(Text(_personal(name, row.get(name))) for name in said))
        self._out.print(table)

    def grid(self, rows: Iterable[Sequence[str]]) -> None:
        """Print rows for a person; the first cell says how each is, and colours it."""
        table = Table.grid(padding=(0, 2, 0, 0))
        for state, *rest in rows:
            table.add_row(*(Text(shown(cell)) for cell in (state, *rest)), style=_COLOURS.get(state, ""))
        self._out.print(table)

    def _field(self, name: str, value: Any) -> None:
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            self._rows(value)
        elif isinstance(value, dict) and _is_text(value):
            for inner, one in value.items():
                self._field(inner, one)
        elif _is_text(value):
            self.line(f"{_words(name)}:", style="bold")
            for one in value.splitlines():
                self.line(f"  {one}")
        else:
            self.line(f"{_words(name)}: {_cell(value)}")

    def _rows(self, rows: Sequence[Row]) -> None:
        """Print rows in the form that can be read: texts and wide rows by themselves, mail in two lines, else a table."""
        person, cells = self.for_person, [value for row in rows for value in row.values()]
        if any(map(_is_text, cells)):
            self._apart(rows)
        elif person and all("handle" in row and "date" in row for row in rows):
            self._mail(rows)
        elif person and any(len(_cell(value)) > _WIDE for value in cells):
            self._apart(rows)
        else:
            self.table(rows)

    def _apart(self, rows: Sequence[Row]) -> None:
        for number, row in enumerate(rows):
            if number:
                self.line("-" * 40, style="dim")
            for name, value in row.items():
                self._field(name, value)

    def _mail(self, rows: Sequence[Row]) -> None:
        """Print a list of messages: when, from whom and what about; below that the handle and whatever else is known."""
        for row in rows:
            style = "bold" if row.get("unread") else ""
            sender = _cell(row.get("from")).partition(" <")[0]
            flag = "!" if row.get("flagged") else " "
            first = Text(f"{_personal('date', row['date'])} {flag} {sender:.24} ".ljust(40), style=style, end="")
            first.append(_cell(row.get("subject")))
            first.truncate(self._out.width, overflow="ellipsis")
            self._out.print(first, no_wrap=True)
            rest = [_cell(value) for name, value in row.items() if name not in _FIRST and not isinstance(value, bool)]
            marks = [_words(name) for name, value in row.items() if name not in ("unread", "flagged") and value is True]
            self.line("  ".join(["   ", *rest, *marks]), style="dim")


_FIRST = ("date", "from", "subject")


def shown(text: str) -> str:
    """Make control characters visible: a terminal obeys escape sequences, wherever they come from."""
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _is_text(value: Any) -> bool:
    """Whether a value needs lines of its own."""
    if isinstance(value, dict):
        return any(_is_text(one) for one in value.values())
    return isinstance(value, str) and ("\n" in value or len(value) > _LONG)


def _personal(name: str, value: Any) -> str:
    """Return a cell as a person reads it: instants in local time."""
    if name in _TIMES and isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value).astimezone()
        except ValueError:
            return _cell(value)
        return f"{moment:%Y-%m-%d %H:%M}"
    return _cell(value)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_cell(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{_words(name)} {_cell(one)}" for name, one in value.items())
    return shown(str(value)).replace("\t", " ").replace("\n", " ")
