"""Token budgets: every answer fits, and says what was left out (N-11)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcp_proton.services.fields import Mark

DEFAULT_TOKENS = 2000
MOST_TOKENS = 10000
LETTERS_A_TOKEN = 4
_TOKENS_A_SIGN = 0.6
_CHEAP = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n"

MaxTokens = Annotated[int, Field(ge=200, le=MOST_TOKENS), Mark.TOKEN]


def tokens(text: str) -> int:
    """Estimate o200k tokens, never much too low.

    Four ASCII letters or blanks make a token; digits and signs are dearer (links, handles); anything else counts one each.
    """
    ascii_only = text.encode("ascii", "ignore")
    dear = len(ascii_only.translate(None, _CHEAP))
    return int((len(ascii_only) - dear) / LETTERS_A_TOKEN + dear * _TOKENS_A_SIGN + len(text) - len(ascii_only)) + 1


def cut(text: str, budget: int, start: int = 0) -> tuple[str, int | None]:
    """Return the piece of `text` from `start` that fits the budget, and where the rest begins (None: nothing is left).

    Prefers to end at a line, then at a blank, when one is near.
    """
    rest = text[start : start + budget * LETTERS_A_TOKEN + 2]
    if start + len(rest) >= len(text) and tokens(rest) <= budget:
        return rest, None
    low, high = 1, len(rest)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens(rest[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    for mark in ("\n", " "):
        place = rest.rfind(mark, low - max(80, low // 10), low)
        if place > 0:
            low = place + 1
            break
    return rest[:low], start + low
