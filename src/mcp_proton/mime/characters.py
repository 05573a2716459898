"""Text as a person would see it: no control, bidirectional, zero-width, tag or surrogate character is left.

What writing needs stays: joiners between letters that join, and the variation selector and joiner of an emoji.
`visible` is idempotent.
"""

from __future__ import annotations

import re

from .notices import Decoded, Notice

_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINING = "\u0600-\u061b\u061d-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1800-\u180a\u1810-\u18af"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
    f"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    f"|(?<![{_JOINING}{_EMOJI}])(?<![{_EMOJI}]\ufe0f)\u200d|\u200d(?![{_JOINING}{_EMOJI}])"
    f"|(?<![{_EMOJI}0-9#*])\ufe0f"
)
_HARMLESS = str.maketrans("", "", "\u00ad\u034f\u200b\u200c\u200d\u2007\u2060\ufeff\ufe0f\ufe0e")


_SUSPECT = frozenset(
    chr(code)
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *range(0x2000, 0x2070),
        *range(0xD800, 0xE000),
        *range(0xE0000, 0xE1000),
    )
    if chr(code) not in "\t\n"
) | frozenset(
    letter for letter in map(chr, range(0xA0, 0x1E000)) if _INVISIBLE.match(letter) and letter not in "\u200c\u200d"
)
"""Everything the expressions above may touch: most texts hold none of it, and a set knows that at once."""


def visible(text: str) -> Decoded:
    """Return the text with line ends as `\\n` and without what cannot be seen.

    The notice is given where the removed characters can carry or turn text; padding such as soft hyphens is removed
    in silence, since half of all newsletters hold it.
    """
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
