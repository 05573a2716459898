"""Phrases that try to give an agent orders, in several languages: a notice for the reader, never a reason to hide mail."""

from __future__ import annotations

import re

from mcp_proton.domain.query import fold
from mcp_proton.mime.phrases import KINDS

LONGEST = 1 << 18
"""Characters that are looked at."""

_COMPILED = {name: re.compile("|".join(kind.patterns)) for name, kind in KINDS.items()}


def suspicion(text: str) -> frozenset[str]:
    """Return the kinds of order in the text, before or after it was neutralised (J-122). Empty is no proof of innocence."""
    looked = fold(text[:LONGEST])
    return frozenset(
        name
        for name, kind in KINDS.items()
        if any(stem in looked for stem in kind.stems) and _COMPILED[name].search(looked)
    )
