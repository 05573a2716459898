"""XML of a stranger, read as a stream: no tree is built, no entity is expanded, nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from mcp_proton.documents.refusals import Reason, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Listener(Protocol):
    """Hears elements as they come, by their names without a namespace."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Hear that an element begins."""
        ...

    def end(self, name: str) -> None:
        """Hear that an element ends."""
        ...

    def data(self, text: str) -> None:
        """Hear a piece of text."""
        ...


def walk(chunks: Iterable[bytes], listener: Listener) -> None:
    """Read XML from its octets to its end. `Unreadable` for what is no XML, and for entities of its own."""
    parser = DefusedXMLParser(target=_Plain(listener), forbid_dtd=False, forbid_entities=True, forbid_external=True)
    try:
        for chunk in chunks:
            parser.feed(chunk)
        parser.close()
    except DefusedXmlException:
        raise Unreadable(Reason.XML_BOMB) from None
    except (ParseError, ValueError, LookupError):
        raise Unreadable(Reason.DAMAGED) from None


class _Plain:
    """Passes on what the parser finds, without the namespaces: producers disagree on them, and names do not clash."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.data = listener.data

    def start(self, name: str, attributes: dict[str, str]) -> None:
        # An attribute of another namespace stands before a plain one of the same name: `r:id` before `id`.
        plain = {key.rpartition("}")[2]: attributes[key] for key in sorted(attributes, key=lambda key: "}" in key)}
        self._listener.start(name.rpartition("}")[2], plain)

    def end(self, name: str) -> None:
        self._listener.end(name.rpartition("}")[2])

    def close(self) -> None:
        """Nothing was built that would have to be given back."""
