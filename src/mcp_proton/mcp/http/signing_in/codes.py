"""Codes: what a browser carries from the owner's yes to the program, good once and for five minutes (A-32)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.mcp.http.signing_in.keeping import Kept

if TYPE_CHECKING:
    from mcp_proton.mcp.http.signing_in.asking import Asked

SECONDS = 300.0


@dataclass
class Granted:
    """What a code stands for. `sign_in` is what became of it, once it was spent."""

    asked: Asked
    client: str
    scopes: tuple[str, ...]
    spent: bool = False
    sign_in: str | None = None


class Codes:
    """Codes that were issued, spent ones too, until their time is over."""

    def __init__(self) -> None:
        self._kept: Kept[Granted] = Kept(SECONDS)

    def issue(self, asked: Asked, client: str, scopes: tuple[str, ...]) -> str:
        """Make a code."""
        return self._kept.put(Granted(asked, client, scopes))

    def look(self, code: str) -> Granted | None:
        """Return what a code stands for, spent or not."""
        return self._kept.look(code)
