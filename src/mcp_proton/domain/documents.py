"""Documents: what is read of an attached file, by page, slide or sheet; a text is a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_proton.domain.mail import Attachment


@dataclass(frozen=True, slots=True)
class Claim:
    """What a file says it is, as far as its reader has to know; nothing of it is relied on.

    At most `most` octets are read: a `whole` file is of no use beyond them, of another the beginning is. `complete` says
    whether all of it is there.
    """

    kind: str
    most: int
    whole: bool
    charset: str | None = None
    flowed: bool = False
    delete_space: bool = False
    complete: bool = True


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
    """What was read of a document. `unit` is page, slide or sheet, or text; `total` is how many there are.

    `following` is where the next excerpt begins, None where nothing of the span is left; of a text, about `left` letters are.
    `notices` are words of `mime.notices`.
    """

    unit: str
    total: int
    passages: Sequence[Passage]
    following: Span | None = None
    notices: frozenset[str] = frozenset()
    left: int = 0


class Documents(Protocol):
    """Reads files of strangers where they can do no harm."""

    def claim(self, attachment: Attachment) -> Claim | None:
        """Return what an attachment says it is; None where that has no reader."""
        ...

    async def excerpt(self, descriptor: int, claim: Claim, span: Span, letters: int) -> Excerpt:
        """Return about `letters` of an open, seekable file's text. `Unsupported` says what is in the way, by its code."""
        ...
