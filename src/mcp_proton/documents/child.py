"""The child: reads one document from its standard input, answers with one line of JSON, ends.

    python -I -m mcp_proton.documents.child '{"first": 1, "last": null, "offset": 0, "letters": 8000, …}'

Libraries are loaded after memory and time are limited, and before the doors are shut; the document is read after that.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from mcp_proton.domain.documents import Excerpt, Span

from .confinement import Limits, bound, seal
from .kinds import Kind, recognise
from .pages import Pages
from .refusals import Reason, Unreadable

Reader = Callable[[BinaryIO, Pages, Span], "int | None"]
_MOST_RTF = 64 << 20


def main() -> None:
    """Answer what was asked."""
    asked = json.loads(sys.argv[1])
    bound(Limits(asked["memory"], asked["processor"]), asked["parent"])
    try:
        answer = _answer(asked)
    except Unreadable as error:
        answer = {"refused": error.reason.value}
    except (MemoryError, RecursionError):
        answer = {"refused": Reason.MEMORY.value}
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.buffer.flush()
    os._exit(0)  # nothing is left to be tidied up, and no library may do so behind shut doors


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    span = Span(asked["first"], asked["last"], asked["offset"])
    pages = Pages(span, asked["letters"])
    file = io.BufferedReader(io.FileIO(0))
    reader = _reader(recognise(file))
    seal()
    file.seek(0)
    total = reader(file, pages, span)
    return _told(pages.excerpt(total))


def _reader(kind: Kind) -> Reader:
    """Load the reader of a kind, with all that it will need."""
    match kind:
        case Kind.PDF:
            from . import pdf

            return lambda file, pages, span: pdf.read(file, pages, span.first)
        case Kind.SHEETS:
            from . import sheets

            return lambda file, pages, _: sheets.read(file, pages)
        case Kind.RTF:
            from . import rtf

            rtf.prepare()
            return lambda file, pages, _: rtf.read(file.read(_MOST_RTF), pages)
        case Kind.WORD | Kind.SLIDES | Kind.OPEN_DOCUMENT:
            from . import open_document, slides, word
            from .archive import Archive

            read = {Kind.WORD: word.read, Kind.SLIDES: slides.read, Kind.OPEN_DOCUMENT: open_document.read}[kind]
            return lambda file, pages, _: read(Archive(file), pages)


def _told(excerpt: Excerpt) -> dict[str, Any]:
    following = excerpt.following
    return {
        "unit": excerpt.unit,
        "total": excerpt.total,
        "passages": [[one.number, one.title, one.text] for one in excerpt.passages],
        "following": [following.first, following.offset] if following else None,
        "notices": sorted(excerpt.notices),
    }


if __name__ == "__main__":
    main()
