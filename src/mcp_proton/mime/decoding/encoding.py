"""Content-Transfer-Encoding (RFC 2045 §6) → octets, streamed or at once, of whole and of cut input.

What is broken is read as far as it means anything and `damaged` says so; nothing raises.
"""

from __future__ import annotations

import binascii
import re
from typing import NamedTuple, Protocol

from mcp_proton.mime.notices import Notice

_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")
_LETTERS = re.compile(rb"[A-Za-z0-9+/]*")
_SPACE = b" \t\r\n\v\f"
_SOFT_BLANKS = re.compile(rb"=[ \t]+(\r?\n)")
_BAD_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|\r?\n|\Z)")
_LONE_CR = re.compile(rb"=\r(?!\n)")
_CUT_ESCAPE = re.compile(rb"=[0-9A-Fa-f]?\r?\Z")
_UU_BEGIN = re.compile(rb"begin(?:-base64)? [0-7]{3,4} ")


class Octets(NamedTuple):
    """Decoded octets and what became of them on the way."""

    octets: bytes
    notices: frozenset[str] = frozenset()


class _Codec(Protocol):
    damaged: bool

    def feed(self, chunk: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class Decoder:
    """Decodes a part as it arrives. Memory is bounded by the chunk, plus one line; an unknown encoding passes through."""

    def __init__(self, encoding: str) -> None:
        self._codec = _codec(encoding)

    def feed(self, chunk: bytes) -> bytes:
        """Take encoded octets, return what they decode to so far."""
        return self._codec.feed(chunk)

    def finish(self) -> bytes:
        """Return what is left when the input is at its end."""
        return self._codec.finish()

    @property
    def notices(self) -> frozenset[str]:
        """What was found so far: `transfer_encoding_damaged` or nothing."""
        return frozenset({Notice.TRANSFER_ENCODING_DAMAGED}) if self._codec.damaged else frozenset()


def _codec(encoding: str) -> _Codec:
    match encoding.strip().lower():
        case "base64":
            return _Base64()
        case "quoted-printable":
            return _QuotedPrintable()
        case "x-uuencode" | "uuencode" | "x-uue" | "uue":
            return _Uuencode()
        case _:
            return _Identity()


def decode(encoded: bytes, encoding: str, *, complete: bool = True) -> Octets:
    """Decode a part's octets. With `complete=False` they are the beginning of it, and the result says `truncated`."""
    decoder = Decoder(encoding)
    octets = decoder.feed(encoded)
    if not complete:
        return Octets(octets, decoder.notices | {Notice.TRUNCATED})
    octets += decoder.finish()
    if decoder.notices and encoding.strip().lower() == "base64" and _is_prose(encoded):
        octets = encoded
    return Octets(octets, decoder.notices)


def _is_prose(encoded: bytes) -> bool:
    """Whether the first line was never base64: several words with blanks between them."""
    first = encoded.strip().split(b"\n", 1)[0].strip()
    return b" " in first and not first.startswith(b"=")


class _Identity:
    """7bit, 8bit, binary and whatever nobody knows."""

    damaged = False

    def feed(self, chunk: bytes) -> bytes:
        """Return the chunk."""
        return chunk

    def finish(self) -> bytes:
        """Return nothing: nothing was held back."""
        return b""


class _Base64:
    """base64 with junk between its letters, lost padding, several padded runs, or a footer that some list appended."""

    def __init__(self) -> None:
        self.damaged = False
        self._held = b""
        self._ended = False
        self._line = b""

    def feed(self, chunk: bytes) -> bytes:
        """Decode all letters but the last incomplete group of four."""
        if self._ended:
            return self._after_padding(chunk)
        letters = self._held + chunk.translate(None, _SPACE)
        padding = letters.find(b"=")
        if padding < 0:
            return self._groups(letters)
        return self._padded(chunk, letters)

    def finish(self) -> bytes:
        """Decode the last group, padded or not."""
        if self._ended:
            return self._run_after_padding(self._line, last=True)
        return self._close(self._held)

    def _groups(self, letters: bytes) -> bytes:
        letters = self._cleaned(letters)
        usable = len(letters) - len(letters) % 4
        self._held = letters[usable:]
        return binascii.a2b_base64(letters[:usable])

    def _cleaned(self, letters: bytes) -> bytes:
        if _LETTERS.fullmatch(letters):
            return letters
        self.damaged = True
        return _NO_BASE64.sub(b"", letters)

    def _padded(self, chunk: bytes, letters: bytes) -> bytes:
        """Close the run at its padding; what follows on later lines is judged line by line."""
        __, _, tail = chunk.partition(b"=")
        run = letters[: letters.index(b"=")]
        self._held = b""
        self._ended = True
        return self._close(run) + self._after_padding(tail)

    def _close(self, letters: bytes) -> bytes:
        letters = self._cleaned(letters)
        self._held = b""
        extra = len(letters) % 4
        if extra == 1:
            self.damaged = True
            letters = letters[:-1]
        return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))

    def _after_padding(self, chunk: bytes) -> bytes:
        lines = (self._line + chunk).split(b"\n")
        self._line = lines.pop()[:4_096]
        return b"".join(self._run_after_padding(line) for line in lines)

    def _run_after_padding(self, line: bytes, *, last: bool = False) -> bytes:
        """Decode a line that is base64 by itself; anything else is a footer and left out."""
        bare = line.strip(_SPACE).lstrip(b"=")
        letters = bare.rstrip(b"=")
        if not letters or (last and not bare):
            return b""
        if len(bare) % 4 or not _LETTERS.fullmatch(letters):
            self.damaged = True
            return b""
        return binascii.a2b_base64(bare)


class _QuotedPrintable:
    """quoted-printable; an escape that is none stays as it is written."""

    def __init__(self) -> None:
        self.damaged = False
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Decode up to the last whole line, or what is whole of a very long one."""
        octets = self._held + chunk
        cut = _CUT_ESCAPE.search(octets[-4:])
        end = len(octets) - (len(octets[-4:]) - cut.start()) if cut else len(octets)
        self._held = octets[end:]
        return self._decoded(octets[:end])

    def finish(self) -> bytes:
        """Return what was held back: half an escape, or nothing for a soft break at the end."""
        left, self._held = self._held.rstrip(b"\r"), b""
        self.damaged = self.damaged or left not in {b"", b"="}
        return b"" if left in {b"", b"="} else left

    def _decoded(self, octets: bytes) -> bytes:
        if b"=" not in octets:
            return octets
        octets = _SOFT_BLANKS.sub(rb"=\1", octets)
        self.damaged = self.damaged or _BAD_ESCAPE.search(octets) is not None
        return binascii.a2b_qp(_LONE_CR.sub(b"=3D\r", octets))


class _Uuencode:
    """uuencode as a transfer encoding: the lines between `begin` and `end`."""

    def __init__(self) -> None:
        self.damaged = False
        self._line = b""
        self._inside = False

    def feed(self, chunk: bytes) -> bytes:
        """Decode the whole lines."""
        lines = (self._line + chunk).split(b"\n")
        self._line = lines.pop()[:4_096]
        return b"".join(self._decoded(line.rstrip(b"\r")) for line in lines)

    def finish(self) -> bytes:
        """Decode the last line."""
        left, self._line = self._line, b""
        return self._decoded(left)

    def _decoded(self, line: bytes) -> bytes:
        if not self._inside:
            self._inside = _UU_BEGIN.match(line) is not None
            return b""
        if line in {b"end", b"`", b""}:
            self._inside = line != b"end"
            return b""
        try:
            return binascii.a2b_uu(line)
        except binascii.Error:
            return self._repaired(line)

    def _repaired(self, line: bytes) -> bytes:
        """Decode a line whose encoder counted wrongly, by the length its first octet promises."""
        self.damaged = True
        promised = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            return binascii.a2b_uu(line[:promised])
        except binascii.Error:
            return b""
