"""Documents: what is read of an attached file that is no text by itself, by page, slide or sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Span:
    """Which pages are wanted, counted from 1. `offset` letters of the first were read before; `last` None: to the end."""

    first: int = 1
    last: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """What was read of one page: its number, its name (a sheet has one), its text."""

    number: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What was read of a document. `unit` is page, slide or sheet, `total` how many there are.

    `following` is where the next excerpt begins, None where nothing of the span is left. `notices` are words of
    `mime.notices`.
    """

    unit: str
    total: int
    passages: Sequence[Passage]
    following: Span | None = None
    notices: frozenset[str] = frozenset()


class Documents(Protocol):
    """Reads documents of strangers where they can do no harm."""

    def reads(self, media_type: str, filename: str) -> bool:
        """Say whether a file that calls itself so may be a document with a reader."""
        ...

    async def excerpt(self, descriptor: int, span: Span, letters: int) -> Excerpt:
        """Return about `letters` of an open, seekable file's text. `Unsupported` says what is in the way, by its code."""
        ...
