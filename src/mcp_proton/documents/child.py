"""The child: reads one file from its standard input, answers with one line of JSON, ends.

    python -I -m mcp_proton.documents.child '{"first": 1, "last": null, "offset": 0, "letters": 8000, …}'

Libraries are loaded after memory and time are limited, and before the doors are shut; the file is read after that.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
from typing import Any, BinaryIO, Protocol, cast

from mcp_proton.documents.confinement import Limits, bound, seal
from mcp_proton.documents.kinds import IN_CHARSETS, Kind, recognise
from mcp_proton.documents.pages import Pages
from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.domain.documents import Claim, Excerpt, Span


class Reader(Protocol):
    """A module of `readers`."""

    def read(self, file: BinaryIO, pages: Pages, claim: Claim) -> int | None:
        """Read an open file into pages; return how many there are, where that is known without having counted."""
        ...


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
    claim = Claim(**asked["claim"])
    pages = Pages(span, asked["letters"])
    file = io.BufferedReader(io.FileIO(0))
    reader = loaded(recognise(file, Kind(claim.kind)))
    seal()
    file.seek(0)
    total = reader.read(file, pages, claim)
    return _told(pages.excerpt(total))


def loaded(kind: Kind) -> Reader:
    """Return the reader of a kind, with all that it will need."""
    try:
        reader = cast("Reader", importlib.import_module(f"{__package__}.readers.{kind}"))
    except ModuleNotFoundError:
        raise Unreadable(Reason.MISSING) from None
    if kind in IN_CHARSETS:
        importlib.import_module(f"{__package__}.decoding").prepare()
    return reader


def _told(excerpt: Excerpt) -> dict[str, Any]:
    following = excerpt.following
    return {
        "unit": excerpt.unit,
        "total": excerpt.total,
        "passages": [[one.number, one.title, one.text] for one in excerpt.passages],
        "following": [following.first, following.offset] if following else None,
        "notices": sorted(excerpt.notices),
        "left": excerpt.left,
    }


if __name__ == "__main__":
    main()
