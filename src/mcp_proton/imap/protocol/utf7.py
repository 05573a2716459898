"""Mailbox names in modified UTF-7 (RFC 3501 §5.1.3). Decoding never fails: a name that isn't valid is shown as sent."""

from __future__ import annotations

import binascii
import re

_ENCODED = re.compile(rb"&([A-Za-z0-9+,]*)-")
_FOREIGN = re.compile(r"[^\x20-\x7e]+")


def encode(name: str) -> bytes:
    """The name as servers without UTF8=ACCEPT spell it."""
    return _FOREIGN.sub(_shifted, name.replace("&", "&-")).encode("ascii")


def _shifted(run: re.Match[str]) -> str:
    packed = binascii.b2a_base64(run[0].encode("utf-16-be", "surrogatepass"), newline=False)
    return f"&{packed.rstrip(b'=').replace(b'/', b',').decode('ascii')}-"


def decode(name: bytes) -> str:
    """The name for people. Raw UTF-8 and broken shifts stay readable instead of failing."""
    pieces: list[str] = []
    at = 0
    for run in _ENCODED.finditer(name):
        pieces.append(name[at : run.start()].decode("utf-8", "replace"))
        pieces.append(_unshifted(run))
        at = run.end()
    pieces.append(name[at:].decode("utf-8", "replace"))
    return "".join(pieces)


def _unshifted(run: re.Match[bytes]) -> str:
    packed = run[1]
    if not packed:
        return "&"
    try:
        wide = binascii.a2b_base64(packed.replace(b",", b"/") + b"=" * (-len(packed) % 4))
        return wide.decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return run[0].decode("ascii")
