"""Names that strangers gave → names safe on any file system. `file_name` is idempotent."""

from __future__ import annotations

import re
import unicodedata

from mcp_proton.mime.decoding.characters import line

LONGEST = 180
"""Octets in UTF-8: room for a suffix within the 255 of common file systems."""

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|\Z)", re.IGNORECASE)
_DRIVE = re.compile(r"\A[A-Za-z]:(?=[\\/])")


def file_name(name: str) -> str:
    """Return a single, visible path component: no directories, devices, leading dots or characters any system refuses.

    In NFC, at most `LONGEST` octets with the extension kept; `attachment` where nothing is left.
    """
    last = re.split(r"[\\/]", _DRIVE.sub("", line(name)))[-1] or line(name)
    bare = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", last))
    bare = _shortened(bare.strip(". "))
    if _DEVICE.match(bare):
        bare = f"_{bare}"
    return bare if bare.strip("_") else "attachment"


def _shortened(name: str) -> str:
    if len(name.encode()) <= LONGEST - 1:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > 20:
        stem, dot, extension = name, "", ""
    kept = stem.encode()[: LONGEST - 1 - len(f"{dot}{extension}".encode())].decode("utf-8", "ignore")
    return f"{kept.rstrip('. ')}{dot}{extension}"
