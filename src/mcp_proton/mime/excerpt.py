"""An excerpt: the few words around what was looked for, so that a hit can be judged without reading the message."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

AROUND = 80
"""characters before and after"""


def excerpt(text: str, wanted: Iterable[str]) -> str:
    """Return what stands around the first place where one of these is, on one line; "" where none is found as written."""
    told = unicodedata.normalize("NFKC", text)
    patterns = [r"\s+".join(map(re.escape, unicodedata.normalize("NFKC", one).split())) for one in wanted]
    found = re.search("|".join(one for one in patterns if one) or r"(?!)", told, re.IGNORECASE)
    if found is None:
        return ""
    start, end = max(0, found.start() - AROUND), min(len(told), found.end() + AROUND)
    shown = " ".join(told[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(told) else "")
