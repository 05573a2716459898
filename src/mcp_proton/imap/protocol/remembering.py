"""What keeps coming back (correspondents, flag sets, parameters) is read once a connection, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

V = TypeVar("V")
MOST = 2_048
LONGEST = 1_024


class Remembered(dict[bytes, V]):
    """`remembered[span]` is `read(span)`, kept for the next time. A dictionary, since this is the hottest path there is."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[bytes], V]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, span: bytes) -> V:
        value = self._read(span)
        if len(span) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[span] = value
        return value
