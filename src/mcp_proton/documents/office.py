"""How the parts of an Office document belong together: its relationships (ECMA-376 part 2 §9)."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.documents import markup
from mcp_proton.documents.refusals import Reason, Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.documents.archive import Archive


@dataclass(frozen=True, slots=True)
class Related:
    """A part that another one names: the name it has there, the last word of its kind, and where it is."""

    id: str
    kind: str
    part: str


def related(archive: Archive, part: str = "") -> Sequence[Related]:
    """Return the parts that one names; those of the document as a whole for an empty name."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive.names:
        return ()
    found = _Relations(part)
    markup.walk(archive.chunks(relations), found)
    return [one for one in found.found if one.part in archive.names]


def main_part(archive: Archive) -> str:
    """Return the part that holds the document itself."""
    for one in related(archive):
        if one.kind == "officeDocument":
            return one.part
    raise Unreadable(Reason.DAMAGED)


class _Relations:
    def __init__(self, part: str) -> None:
        self._part = part
        self.found: list[Related] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.found.append(Related(attributes.get("Id", ""), kind, self._place(attributes.get("Target", ""))))

    def end(self, name: str) -> None:
        """Nothing: a relationship is told by its attributes."""

    def data(self, text: str) -> None:
        """Nothing: a relationship holds no text."""

    def _place(self, target: str) -> str:
        if target.startswith("/"):
            return posixpath.normpath(target).lstrip("/")
        return posixpath.normpath(posixpath.join(posixpath.dirname(self._part), target))
