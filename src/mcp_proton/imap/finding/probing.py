"""Does this server's SEARCH read bodies as people do? Tried on its own mail, since servers do not say (N-3).

A word that stands in a message only in encoded form, or only over a soft line break, is looked for by the server in
that very message, and so is the end of it: an index of words finds whole words, where RFC 9051 asks for any piece. It has
to find all that are tried; where no message has such a word, nothing is known.
"""

from __future__ import annotations

import re
from contextlib import aclosing
from enum import Enum
from typing import TYPE_CHECKING

from mcp_proton.domain.query import Field
from mcp_proton.imap import envelopes
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.protocol.writer import Atom
from mcp_proton.mime import searching

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol.box import Box

SAMPLED = 40
LONGEST = 32 * 1024
TRIED = 4
_WORD = re.compile(r"\w{4,40}")


class Sight(Enum):
    """What a server sees of a text: any piece of it, whole words only, or only the octets as they were sent."""

    PIECES = "pieces"
    WORDS = "words"
    OCTETS = "octets"


async def sight(mailbox: Mailbox, box: Box, uids: Sequence[int]) -> Sight | None:
    """Return what it sees of every word that was tried; None where there was none to try."""
    tried, seen = 0, Sight.PIECES
    async with aclosing(_hidden_words(mailbox, box, uids)) as words:
        async for uid, word in words:
            if not await _finds(box, uid, word[1:]):
                if not await _finds(box, uid, word):
                    return Sight.OCTETS
                seen = Sight.WORDS
            tried += 1
            if tried == TRIED:
                break
    return seen if tried else None


async def _finds(box: Box, uid: int, word: str) -> bool:
    try:
        return uid in await box.search(Atom("UID"), UidSet.of([uid]), Atom("BODY"), _other_case(word))
    except Rejected:
        return False


async def _hidden_words(mailbox: Mailbox, box: Box, uids: Sequence[int]) -> AsyncGenerator[tuple[int, str], None]:
    sample = [*uids[-SAMPLED // 2 :], *uids[: SAMPLED // 2]]
    sizes = await box.fetch_all(sample, Items(size=True)) if sample else []
    small = [row.uid for row in sizes if row.size is not None and row.size <= LONGEST]
    if not small:
        return
    async with box.fetch(small, Items(envelope=True, sections=("",))) as rows:
        async for row in rows:
            raw = row.sections.get("", b"")
            candidate = searching.candidate(raw, envelopes.envelope(mailbox, box.uidvalidity, row))
            for word in _only_decoded(candidate.texts.get(Field.BODY) or "", raw):
                yield row.uid, word
                break


def _only_decoded(text: str, raw: bytes) -> Iterator[str]:
    """Words of the text that a search of the raw octets would miss. HTML is left out: no server reads its entities."""
    if b"text/html" in raw.lower():
        return
    lowered = raw.lower()
    for found in _WORD.finditer(text):
        if found[0].lower().encode("utf-8", "replace") not in lowered:
            yield found[0]


def _other_case(word: str) -> str:
    swapped = word.swapcase()
    return swapped if swapped.swapcase() == word else word
