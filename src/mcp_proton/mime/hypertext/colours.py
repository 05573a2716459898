"""Values of CSS that decide whether a text can be seen: lengths in pixels, colours. What is not understood is None."""

from __future__ import annotations

import colorsys
import re
from functools import lru_cache
from typing import NamedTuple

RGB = tuple[int, int, int]

WHITE: RGB = (255, 255, 255)
BLACK: RGB = (0, 0, 0)
LINK: RGB = (0, 0, 238)

_NUMBER = re.compile(
    r"\s*([+-]?(?:\d{1,9}\.?\d{0,9}|\.\d{1,9}))\s*(px|pt|pc|em|rem|ex|ch|%|in|cm|mm|vw|vh)?", re.IGNORECASE
)
_PIXELS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "in": 96.0,
    "cm": 37.8,
    "mm": 3.78,
    "rem": 16.0,
    "vw": 8.0,
    "vh": 8.0,
}
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]{1,80})\)")
_NAMED: dict[str, RGB] = {
    "white": WHITE,
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255),
    "floralwhite": (255, 250, 240),
    "mintcream": (245, 255, 250),
    "azure": (240, 255, 255),
    "seashell": (255, 245, 238),
    "aliceblue": (240, 248, 255),
    "black": BLACK,
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "lightgray": (211, 211, 211),
    "lightgrey": (211, 211, 211),
    "gainsboro": (220, 220, 220),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "navy": (0, 0, 128),
    "yellow": (255, 255, 0),
    "orange": (255, 165, 0),
    "maroon": (128, 0, 0),
    "purple": (128, 0, 128),
    "teal": (0, 128, 128),
    "windowtext": BLACK,
    "canvas": WHITE,
}


class Colour(NamedTuple):
    """A colour and how much of it is seen."""

    rgb: RGB
    alpha: float


@lru_cache(maxsize=512)
def pixels(value: str | None, *, of: float = 16.0) -> float | None:
    """Return a length in pixels; `em` and `%` count in `of`. None where it is no plain length."""
    found = _NUMBER.match(value or "")
    if found is None:
        return None
    unit = (found[2] or "").lower()
    number = float(found[1])
    if unit in {"em", "%", "ex", "ch"}:
        return number * of / {"%": 100, "em": 1}.get(unit, 2)
    return number * _PIXELS[unit]


@lru_cache(maxsize=512)
def colour(value: str | None) -> Colour | None:
    """Return the colour a value names; None where it names none that is known (a picture, a gradient, `inherit`)."""
    text = (value or "").replace("!important", "").strip().lower()
    if text.startswith("#") or re.fullmatch(r"[0-9a-f]{6}", text):
        return _hexadecimal(text.lstrip("#"))
    if text == "transparent":
        return Colour(WHITE, 0.0)
    function = _FUNCTION.match(text)
    if function:
        return _functional(function[1], re.split(r"[\s,/]+", function[2].strip()))
    return Colour(_NAMED[text], 1.0) if text in _NAMED else None


def _hexadecimal(digits: str) -> Colour | None:
    if len(digits) in {3, 4}:
        digits = "".join(digit * 2 for digit in digits)
    if not re.fullmatch(r"[0-9a-f]{6}(?:[0-9a-f]{2})?", digits):
        return None
    red, green, blue, *rest = bytes.fromhex(digits)
    return Colour((red, green, blue), rest[0] / 255 if rest else 1.0)


def _functional(kind: str, words: list[str]) -> Colour | None:
    numbers = [_part(word) for word in words]
    if len(numbers) < 3 or any(number is None for number in numbers):
        return None
    values = [number or 0.0 for number in numbers]
    alpha = values[3] / (100 if words[3].endswith("%") else 1) if len(values) > 3 else 1.0
    if kind == "hsl":
        made = colorsys.hls_to_rgb(values[0] % 360 / 360, min(values[2], 100) / 100, min(values[1], 100) / 100)
        channels = [channel * 255 for channel in made]
    else:
        channels = [
            value * 2.55 if word.endswith("%") else value for value, word in zip(values[:3], words, strict=False)
        ]
    red, green, blue = (max(0, min(255, round(channel))) for channel in channels)
    return Colour((red, green, blue), alpha)


def _part(word: str) -> float | None:
    found = _NUMBER.match(word)
    return float(found[1]) if found else None


def alike(one: RGB, other: RGB) -> bool:
    """Whether a person could not tell text of one colour from a ground of the other."""
    return max(abs(here - there) for here, there in zip(one, other, strict=True)) <= 16
