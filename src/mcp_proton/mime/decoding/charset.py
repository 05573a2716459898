"""Octets of any claimed charset → text, without exceptions and without lone surrogates.

The declared charset is believed where the octets fit it; then UTF-8; then a guess, reported as `charset_guessed`.
Only text codecs are ever used, never Python's transforms (`rot13`, `idna`, `unicode_escape`).
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import chardet

from mcp_proton.mime.decoding.characters import whole
from mcp_proton.mime.notices import Decoded, Notice

_ALIASES = {
    # Superset codecs: what senders mean when they name the smaller set.
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "iso8859-1": "cp1252",
    "ascii": "utf-8",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "cp950",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "iso2022_jp": "iso2022_jp_ext",
    # Names Python does not know.
    "ks_c_5601-1987": "cp949",
    "ksc5601": "cp949",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "unicode-1-1-utf-7": "utf-7",
    "unicode-1-1-utf-8": "utf-8",
    "utf8mb4": "utf-8",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "dos-850": "cp850",
}
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode-escape", "unicode_escape", "raw-unicode-escape", "raw_unicode_escape", "undefined"}
    | {"mbcs", "oem", "unicode_internal"}
)
_WESTERN = frozenset({"cp1252", "latin_1", "iso8859-15", "cp1250", "cp1251", "cp1254"})
_JUNK = re.compile(r"[\s\"';]+")
_NUMBERED = re.compile(r"(cp|ibm|windows|iso)[-_ ]?(\d.*)")
_META = re.compile(rb"<meta[^>]{0,200}?charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_UNKNOWN = frozenset({"", "unknown-8bit", "unknown", "x-unknown", "8bit", "binary", "default", "none", "us-ascii"})

SAMPLE = 8_192
"""Octets that are looked at to guess a charset."""


def decode(octets: bytes, declared: str | None = None, *, complete: bool = True) -> Decoded:
    """Decode octets. With `complete=False` a character cut at the end is left out instead of replaced."""
    name = codec_name(declared)
    if octets.isascii() and name not in _SEVEN_BIT:
        return Decoded(octets.decode("ascii"))
    text = _declared(octets, name, complete=complete) if name else None
    if text is not None:
        return Decoded(whole(text))
    undeclared = name is None and _bare(declared) in _UNKNOWN
    return _guess(octets, name, undeclared=undeclared, complete=complete)


def declared_in_html(octets: bytes) -> str | None:
    """Return the charset that the HTML itself names in its first 2 KiB."""
    found = _META.search(octets[:2048])
    return found[1].decode("ascii") if found else None


@lru_cache(maxsize=256)
def codec_name(declared: str | None) -> str | None:
    """Return Python's name of a text codec for a declared charset, or None where it says nothing we can use."""
    name = _bare(declared)
    if name in _UNKNOWN:
        return None
    numbered = _NUMBERED.fullmatch(name)
    for candidate in (name, f"{numbered[1]}{numbered[2]}" if numbered else name):
        found = _lookup(_ALIASES.get(candidate, candidate))
        if found:
            return found
    return None


def _bare(declared: str | None) -> str:
    """Return the name without quotes, blanks and the language of RFC 2231."""
    return _JUNK.sub("", (declared or "").partition("*")[0].lower())[:60]


def _lookup(name: str) -> str | None:
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    if info.name in _NO_CHARSETS or not getattr(info, "_is_text_encoding", True):
        return None
    return _ALIASES.get(info.name, info.name)


def _declared(octets: bytes, name: str, *, complete: bool) -> str | None:
    if name in _WIDE:
        return _wide(octets, name, complete=complete)
    if name in _WESTERN and not octets.isascii() and _strictly(octets, "utf-8", complete=complete) is not None:
        return None  # UTF-8 under a western name: the chance that it is meant as mojibake is nil
    text = _strictly(octets, name, complete=complete)
    return text.removeprefix("\ufeff") if text is not None else None


def _strictly(octets: bytes, name: str, *, complete: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)("strict").decode(octets, final=complete)
    except (UnicodeError, ValueError, OverflowError):
        return None


def _wide(octets: bytes, name: str, *, complete: bool) -> str | None:
    if octets.isascii() and b"\0" not in octets:
        return octets.decode("ascii")
    if name == "utf-16" and octets[:2] not in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        name = "utf-16-be" if octets[::2].count(0) > octets[1::2].count(0) else "utf-16-le"
    text = _strictly(octets, name, complete=complete)
    return text.removeprefix("\ufeff") if text is not None else None


def _guess(octets: bytes, name: str | None, *, undeclared: bool, complete: bool) -> Decoded:
    """Decode what does not fit its declaration: UTF-8, then damaged but mostly right, then the likeliest charset."""
    guessed = frozenset({Notice.CHARSET_GUESSED})
    text = _strictly(octets, "utf-8", complete=complete)
    if text is not None:
        return Decoded(whole(text.removeprefix("\ufeff")), frozenset() if undeclared else guessed)
    if name or len(octets) > SAMPLE:
        loose = _loosely(octets, name or "utf-8")
        if loose and loose.count("\ufffd") * 100 <= len(loose):
            loose = loose if complete else loose.removesuffix("\ufffd")
            return Decoded(whole(loose.removeprefix("\ufeff")), frozenset({Notice.CHARACTERS_REPLACED}))
    likely = codec_name(_likely(octets)) or "cp1252"
    text = _strictly(octets, likely, complete=complete)
    if text is not None:
        return Decoded(whole(text), guessed)
    return Decoded(whole(_loosely(octets, likely)), guessed | {Notice.CHARACTERS_REPLACED})


def _loosely(octets: bytes, name: str) -> str:
    """Decode with U+FFFD for what does not fit. Some codecs refuse even so; ASCII with replacements never does."""
    try:
        return octets.decode(name, "replace")
    except (UnicodeError, ValueError, OverflowError):
        return octets.decode("ascii", "replace")


def _likely(octets: bytes) -> str | None:
    """Guess from the lines that are not plain ASCII.

    High octets that stand alone or in twos between letters are accents of a Latin script; a model asked openly takes a
    short line of French for Cyrillic. Three of them are too few for any model: that is a western text.
    """
    telling = b"\n".join(line for line in octets[: SAMPLE * 8].split(b"\n") if not line.isascii())[:SAMPLE]
    high = _HIGH.findall(telling)
    count = sum(len(run) for run in high)
    if 2 * sum(len(run) for run in high if len(run) < 3) <= count:
        return chardet.detect(telling)["encoding"]
    return "cp1252" if count < 4 else chardet.detect(telling, include_encodings=_LATIN)["encoding"]


_HIGH = re.compile(rb"[\x80-\xff]+")
_LATIN = ("windows-1252", "windows-1250", "iso-8859-2", "windows-1254")
_WIDE = frozenset({"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})
_SEVEN_BIT = (
    frozenset({"utf-7", "hz"} | {f"iso2022_{kind}" for kind in ("jp", "jp_1", "jp_2", "jp_3", "jp_ext", "kr")}) | _WIDE
)
