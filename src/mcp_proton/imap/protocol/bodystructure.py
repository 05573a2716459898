"""BODYSTRUCTURE (RFC 9051 §7.5.2) as frozen values, each part with the path by which FETCH names it.

Never an error: what is missing is None or (). Bridge's shapes are understood: `()` for no parameters, no encoding,
a forwarded multipart shown as a multipart of subtype `rfc822` (no envelope, its parts numbered through it).
On Bridge `BODY[n.1]` of a forwarded single text is the whole inner message with its header.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcp_proton.imap.protocol import envelope as envelopes
from mcp_proton.imap.protocol import tokens
from mcp_proton.imap.protocol.remembering import Remembered
from mcp_proton.imap.protocol.tokens import Node, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.imap.protocol.envelope import Envelope

Parameters: TypeAlias = "tuple[tuple[str, bytes], ...]"
_LEAF_FIELDS = 7


class BodyPart(NamedTuple):
    """One part. `path` is "" for a multipart message itself, "1", "2.1" …; words are lower case, values as sent."""

    path: str
    type: str
    subtype: str
    parameters: Parameters = ()
    id: bytes | None = None
    description: bytes | None = None
    encoding: str | None = None
    size: int | None = None
    lines: int | None = None
    md5: bytes | None = None
    disposition: str | None = None
    disposition_parameters: Parameters = ()
    language: tuple[bytes, ...] = ()
    location: bytes | None = None
    envelope: Envelope | None = None
    parts: tuple[BodyPart, ...] = ()
    """children of a multipart; the body (as one part) of a message/rfc822"""

    @property
    def content_type(self) -> str:
        return f"{self.type}/{self.subtype}"

    def walk(self) -> Iterator[BodyPart]:
        """This part and all below it, in the order they are written in the message."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting.extend(reversed(part.parts))


_Q = tokens.QUOTED
_TEXT = rb"(" + _Q + rb"|NIL)"
_PAIRS = rb"(NIL|\((?:" + _Q + rb" " + _Q + rb" ?)*+\))"
_DISPOSITION = rb"(?:NIL|\((" + _Q + rb") " + _PAIRS + rb"\))"
_LANGUAGE = rb"(?:NIL|(" + _Q + rb"))"
_COMMON_LEAF = re.compile(
    rb"\((" + _Q + rb") (" + _Q + rb") " + _PAIRS + rb" " + _TEXT + rb" " + _TEXT + rb" " + _TEXT + rb" ([0-9]{1,19})"
    rb"(?: ([0-9]{1,19}))? " + _TEXT + rb" " + _DISPOSITION + rb" " + _LANGUAGE + rb" " + _TEXT + rb"\)"
)
_COMMON_END = re.compile(
    rb" (" + _Q + rb") " + _PAIRS + rb" " + _DISPOSITION + rb" " + _LANGUAGE + rb" " + _TEXT + rb"\)"
)
_PAIR = re.compile(rb"(" + _Q + rb") (" + _Q + rb")")
_OPEN, _COMMON_DEPTH = 40, 20


class StructureReader:
    """Reads structures of one connection in their usual spelling."""

    def __init__(self) -> None:
        self._words = Remembered(_lowered)
        self._parameters = Remembered(_pairs)

    def common(self, text: bytes, at: int) -> tuple[BodyPart, int] | None:
        """The structure at this place and where it ends; None if it needs the grammar (literals, messages within …)."""
        return self._multipart(text, at, "", 0) if text[at + 1] == _OPEN else self._leaf(text, at, "1")

    def _multipart(self, text: bytes, at: int, path: str, depth: int) -> tuple[BodyPart, int] | None:
        if depth > _COMMON_DEPTH:
            return None
        prefix = f"{path}." if path else ""
        children: list[BodyPart] = []
        at += 1
        while text[at : at + 1] == b"(":
            below = f"{prefix}{len(children) + 1}"
            inner = text[at + 1 : at + 2] == b"("
            found = self._multipart(text, at, below, depth + 1) if inner else self._leaf(text, at, below)
            if found is None:
                return None
            children.append(found[0])
            at = found[1]
        end = _COMMON_END.match(text, at)
        if end is None:
            return None
        subtype, parameters, disposition, details, language, location = end.groups()
        return _several(
            path,
            self._words[subtype],
            _pairs(parameters),  # the boundary is another one each time
            (self._words[disposition] if disposition else None, self._parameters[details or b"NIL"]),
            (unquoted(language),) if language else (),
            envelopes.text(location),
            tuple(children),
        ), end.end()

    def _leaf(self, text: bytes, at: int, path: str) -> tuple[BodyPart, int] | None:
        found = _COMMON_LEAF.match(text, at)
        if found is None:
            return None
        (
            type_, subtype, parameters, id_, description, encoding, size, lines, md5, disposition, details, language,
            location,
        ) = found.groups()  # fmt: skip
        return BodyPart(
            path,
            self._words[type_],
            self._words[subtype],
            self._parameters[parameters],
            envelopes.text(id_),
            envelopes.text(description),
            None if encoding == b"NIL" else self._words[encoding],
            int(size),
            None if lines is None else int(lines),
            envelopes.text(md5),
            None if disposition is None else self._words[disposition],
            () if details is None else self._parameters[details],
            () if language is None else (unquoted(language),),
            envelopes.text(location),
        ), found.end()


def _pairs(span: bytes) -> Parameters:
    return tuple((_lowered(name), unquoted(value)) for name, value in _PAIR.findall(span))


def _lowered(quoted: bytes) -> str:
    return unquoted(quoted).decode("latin-1").lower()


def _several(
    path: str,
    subtype: str,
    parameters: Parameters,
    disposition: tuple[str | None, Parameters],
    language: tuple[bytes, ...],
    location: bytes | None,
    parts: tuple[BodyPart, ...],
) -> BodyPart:
    """A multipart; one of subtype `rfc822` is how Bridge shows a forwarded multipart message."""
    return BodyPart(
        path,
        "message" if subtype == "rfc822" else "multipart",
        subtype,
        parameters,
        disposition=disposition[0],
        disposition_parameters=disposition[1],
        language=language,
        location=location,
        parts=parts,
    )


def from_nodes(node: Node) -> BodyPart | None:
    """From a parsed list; None if it is none."""
    if not isinstance(node, list) or not node:
        return None
    return _multipart(node, "") if _is_multipart(node) else _leaf(node, "1")


def _part(node: list[Node], path: str) -> BodyPart:
    return _multipart(node, path) if _is_multipart(node) else _leaf(node, path)


def _is_multipart(node: list[Node]) -> bool:
    if isinstance(node[0], list):
        return True
    # An empty multipart begins with its subtype: no second word, and too short for a leaf.
    return not (len(node) > 1 and isinstance(node[1], bytes)) and len(node) < _LEAF_FIELDS


def _multipart(node: list[Node], path: str) -> BodyPart:
    children: list[list[Node]] = []
    rest = 0
    while rest < len(node) and isinstance(child := node[rest], list):
        if child:
            children.append(child)
        rest += 1
    subtype, parameters, disposition, language, location = _padded(node[rest : rest + 5], 5)
    prefix = f"{path}." if path else ""
    return _several(
        path,
        _lower(subtype) or "mixed",
        _parameters(parameters),
        _disposition(disposition),
        _language(language),
        _word(location),
        tuple(_part(child, f"{prefix}{number}") for number, child in enumerate(children, 1)),
    )


def _leaf(node: list[Node], path: str) -> BodyPart:
    type_, subtype, parameters, id_, description, encoding, size, *rest = _padded(node, _LEAF_FIELDS)
    kind, inner = _lower(type_) or "application", _lower(subtype) or "octet-stream"
    envelope: Envelope | None = None
    parts: tuple[BodyPart, ...] = ()
    lines: int | None = None
    if kind == "message" and inner in {"rfc822", "global"} and rest and isinstance(rest[0], list):
        envelope = envelopes.from_nodes(rest[0])
        parts = _inner_message(rest[1] if len(rest) > 1 else None, path)
        lines, rest = _number(rest[2] if len(rest) > 2 else None), rest[3:]
    elif kind == "text" and rest and _number(rest[0]) is not None:
        lines, rest = _number(rest[0]), rest[1:]
    md5, disposition, language, location = _padded(rest[:4], 4)
    named, details = _disposition(disposition)
    return BodyPart(
        path,
        kind,
        inner,
        _parameters(parameters),
        _word(id_),
        _word(description),
        _lower(encoding),
        _number(size),
        lines,
        _word(md5),
        named,
        details,
        _language(language),
        _word(location),
        envelope,
        parts,
    )


def _inner_message(node: Node, path: str) -> tuple[BodyPart, ...]:
    """The body of a message in a message: a multipart has the outer path, a single part is `.1` below it."""
    if not isinstance(node, list) or not node:
        return ()
    return (_multipart(node, path) if _is_multipart(node) else _leaf(node, f"{path}.1"),)


def _padded(nodes: list[Node], count: int) -> list[Node]:
    return [*nodes, *[None] * (count - len(nodes))]


def _word(node: Node) -> bytes | None:
    return node if isinstance(node, bytes) else None


def _lower(node: Node) -> str | None:
    return node.decode("latin-1").lower() if isinstance(node, bytes) else None


def _number(node: Node) -> int | None:
    return int(node) if isinstance(node, bytes) and len(node) < 20 and node.isdigit() else None


def _parameters(node: Node) -> Parameters:
    if not isinstance(node, list):
        return ()
    pairs = zip(node[::2], node[1::2], strict=False)
    return tuple((_lower(name) or "", value) for name, value in pairs if isinstance(value, bytes) and name)


def _disposition(node: Node) -> tuple[str | None, Parameters]:
    if isinstance(node, list) and node:
        return _lower(node[0]), _parameters(node[1] if len(node) > 1 else None)
    return _lower(node), ()


def _language(node: Node) -> tuple[bytes, ...]:
    if isinstance(node, list):
        return tuple(word for word in node if isinstance(word, bytes))
    return (node,) if isinstance(node, bytes) else ()
