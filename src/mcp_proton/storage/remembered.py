"""Remembered: a value read from the store, read anew only when some process changed it since.

A check costs a look at a file, which is written anew with every change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from mcp_proton.storage.files import stamp, write_private
from mcp_proton.storage.names import new_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp_proton.storage.files import Stamp

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """What `read` found, as long as nobody has told of a change in the file `changed`."""

    def __init__(self, changed: Path, read: Callable[[], Awaitable[Value]]) -> None:
        self._changed = changed
        self._read = read
        self._known: tuple[Stamp | None, Value] | None = None

    async def current(self) -> Value:
        """Return the value as it is now."""
        found = stamp(self._changed)
        if self._known is None or self._known[0] != found:
            self._known = (found, await self._read())  # the stamp is older than what was read, never newer
        return self._known[1]

    def tell(self) -> None:
        """Tell every process that it changed."""
        write_private(self._changed, new_id("change").encode())
