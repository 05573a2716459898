"""Text as a person would see it: no control, bidirectional, zero-width, tag or surrogate character is left.

What writing needs stays: joiners between letters that join, and the variation selector and joiner of an emoji.
`visible` is idempotent.
"""

from __future__ import annotations

import re

from mcp_proton.mime.notices import Decoded, Notice

_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINING = "\u0600-\u061b\u061d-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1800-\u180a\u1810-\u18af"

_RANGES = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200B),
    (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0E), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Always invisible: bidirectional controls, zero width, fillers, variation selectors, tags."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _RANGES)}]"
    f"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    f"|(?<![{_JOINING}{_EMOJI}])(?<![{_EMOJI}]\ufe0f)\u200d|\u200d(?![{_JOINING}{_EMOJI}])"
    f"|(?<![{_EMOJI}0-9#*])\ufe0f"
)
_HARMLESS = str.maketrans("", "", "\u00ad\u034f\u200b\u200c\u200d\u2007\u2060\ufeff\ufe0f\ufe0e")


_TOUCHED = ((0, 8), (0xB, 0x1F), (0x7F, 0x9F), (0x200C, 0x200D), (0x2028, 0x2029), (0xFE0F, 0xFE0F), (0xD800, 0xDFFF))
_SUSPECT = frozenset(chr(code) for first, last in (*_RANGES, *_TOUCHED) for code in range(first, last + 1))
"""Everything that may be changed: most texts hold none of it, and a set knows that at once."""


def visible(text: str) -> Decoded:
    """Return the text with line ends as `\\n` and without what cannot be seen.

    The notice is given where the removed characters can carry or turn text; padding such as soft hyphens is removed
    in silence, since half of all newsletters hold it.
    """
    if text.isascii() and text.isprintable():
        return Decoded(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _SUSPECT.isdisjoint(set(text)):
        return Decoded(text)
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    if text.isascii():
        return Decoded(text)
    seen = _INVISIBLE.sub("", _SURROGATES.sub("\ufffd", text))
    telling = text.translate(_HARMLESS)
    carried = len(seen) != len(text) and len(_INVISIBLE.sub("", telling)) != len(telling)
    return Decoded(seen, frozenset({Notice.INVISIBLE_CHARACTERS_REMOVED}) if carried else frozenset())


def line(text: str) -> str:
    """Return the visible text as one line, every run of white space one blank."""
    return " ".join(visible(_CONTROLS.sub(" ", text)).text.split())


def whole(text: str) -> str:
    """Return the text without lone surrogates, so that it can be written as UTF-8."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
