"""What a client can ask for, parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.search_keys import Key


@dataclass(frozen=True)
class Range:
    """A number or range of a set; None stands for `*`."""

    first: int | None
    last: int | None


@dataclass(frozen=True)
class FetchItem:
    """One thing to fetch: its name as it is echoed, the section path, whether it marks read, and the partial."""

    name: str
    section: str | None = None
    peek: bool = True
    start: int | None = None
    length: int = 0

    @property
    def label(self) -> str:
        """What the response calls it."""
        if self.section is None:
            return self.name
        partial = "" if self.start is None else f"<{self.start}>"
        return f"{self.name}[{self.section}]{partial}"


@dataclass(frozen=True)
class Command:
    """A parsed command: its tag, its name in capitals (`FETCH`, never `UID FETCH`), whether by UID, and its arguments."""

    tag: str
    name: str
    by_uid: bool = False
    mailbox: str = ""
    other: str = ""
    numbers: tuple[Range, ...] = ()
    items: tuple[FetchItem, ...] = ()
    flags: tuple[str, ...] = ()
    how: str = ""
    silent: bool = False
    words: tuple[str, ...] = ()
    key: Key | None = None
    literal: bytes = b""

    @property
    def verb(self) -> str:
        """The command as people write it: `UID FETCH`."""
        return f"UID {self.name}" if self.by_uid else self.name
