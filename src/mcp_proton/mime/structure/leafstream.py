"""A message taken apart while it streams by: the header and body of every leaf, never the whole in memory.

For what has to be known of mail of any size: what is in it, and whether it is whole. `outline` is for reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.header.parameters import parameters
from mcp_proton.mime.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.mime.header.parameters import Parametrised

MESSAGE = "message/rfc822"


class LeafSink(Protocol):
    """Takes the body of one leaf, as encoded, without the line end that belongs to the boundary after it."""

    def write(self, piece: bytes) -> None:
        """More of it."""
        ...

    def end(self) -> None:
        """All of it."""
        ...


@dataclass(slots=True)
class _Open:
    """A multipart that is open. `within`: inside an attached message, whose faults are nobody's business here."""

    boundary: bytes
    within: bool


class LeafReader:
    """Feed it octets. `leaf(header, media type)` is called for every leaf; `top` is the header of the whole.

    An attached message counts by the parts of its multipart, or as a leaf itself. `damaged` says in a word what no mail
    program should have to guess about: `header`, `unclosed` (a multipart without its end), `boundary`, `depth`.
    """

    def __init__(self, leaf: Callable[[Headers, Parametrised], LeafSink]) -> None:
        self.top: Headers | None = None
        self.damaged: str | None = None
        self._leaf = leaf
        self._open: list[_Open] = []
        self._header: bytearray | None = bytearray()
        self._outer: tuple[Headers, bytearray] | None = None
        self._sink: LeafSink | None = None
        self._held = b""
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next octets."""
        if self._header is None and not self._open:
            self._write(self._held + self._rest + chunk)
            self._held = self._rest = b""
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._line(line + b"\n")

    def finish(self) -> None:
        """There is no more."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        if self._header is not None:
            self._end_header()
        self._end_leaf()
        if any(not one.within for one in self._open):
            self._fault("unclosed")

    def _line(self, line: bytes) -> None:
        if line[:2] == b"--" and self._open and self._is_boundary(line):
            return
        if self._header is not None:
            self._header += line
            if line in (b"\r\n", b"\n"):
                self._end_header()
            elif len(self._header) > DEFAULT.header:
                self._fault("header")
                self._end_header()
        elif self._sink is not None:
            end = b"\r\n" if line.endswith(b"\r\n") else line[-1:] if line.endswith(b"\n") else b""
            self._sink.write(self._held + line[: len(line) - len(end)])
            self._held = end

    def _is_boundary(self, line: bytes) -> bool:
        word = line.rstrip(b"\r\n \t")[2:]
        for depth in range(len(self._open) - 1, -1, -1):
            boundary = self._open[depth].boundary
            if word not in (boundary, boundary + b"--"):
                continue
            if any(not one.within for one in self._open[depth + 1 :]):
                self._fault("unclosed")
            del self._open[depth + 1 :]
            if self._header is not None:
                self._end_header()
            self._end_leaf()
            self._outer = None
            if word == boundary:
                self._header = bytearray()
            else:
                self._open.pop()
            return True
        return False

    def _end_header(self) -> None:
        raw, self._header = bytes(self._header or b""), None
        header = Headers(raw)
        if self.top is None:
            self.top = header
        if header.damaged and self._outer is None:
            self._fault("header")
        kind = parameters(header.get("Content-Type") or b"text/plain")
        if kind.value.startswith("multipart/"):
            self._begin_multipart(kind, within=self._outer is not None)
        elif kind.value == MESSAGE and len(self._open) < DEFAULT.depth:
            outer, before = self._outer or (header, bytearray())
            self._outer, self._header = (outer, before + raw if self._outer else bytearray()), bytearray()
        elif self._outer is None:
            self._sink = self._leaf(header, kind)
        else:
            outer, before = self._outer
            self._sink = self._leaf(outer, parameters(outer.get("Content-Type")))
            self._sink.write(bytes(before) + raw)

    def _begin_multipart(self, kind: Parametrised, *, within: bool) -> None:
        boundary = kind.parameters.get("boundary", "").encode("utf-8", "replace")
        within = within or any(one.within for one in self._open)
        if not boundary and not within:
            self._fault("boundary")
        if len(self._open) >= DEFAULT.depth:
            self._fault("depth")
        elif boundary:
            self._open.append(_Open(boundary, within))

    def _write(self, piece: bytes) -> None:
        if self._sink is not None:
            self._sink.write(piece)

    def _end_leaf(self) -> None:
        if self._sink is not None:
            if not self._open and self._held:
                self._sink.write(self._held)
            self._sink.end()
        self._sink, self._held = None, b""

    def _fault(self, what: str) -> None:
        self.damaged = self.damaged or what
