"""As much of CSS as decides whether a text can be seen: declarations, simple selectors, colours, lengths. Bounded."""

from __future__ import annotations

import colorsys
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RGB = tuple[int, int, int]
Declarations = dict[str, str]

WHITE: RGB = (255, 255, 255)
BLACK: RGB = (0, 0, 0)
LINK: RGB = (0, 0, 238)

RULES = 2_000
STEPS = 1_000_000

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*((?:[^;()\"']|\([^()]*\)|\"[^\"]*\"|'[^']*')*)", re.IGNORECASE)
_COMPOUND = re.compile(r"([a-zA-Z][\w-]*|\*)?((?:[.#][\w-]+)*)")
_MARK = re.compile(r"([.#])([\w-]+)")
_EVERYWHERE = re.compile(r"@media\s*(?:all|screen|only screen)?\s*$", re.IGNORECASE)
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


class Element(NamedTuple):
    """What selectors can ask of an element."""

    name: str
    id: str
    classes: frozenset[str]


class _Compound(NamedTuple):
    name: str
    ids: frozenset[str]
    classes: frozenset[str]
    child: bool

    def fits(self, element: Element) -> bool:
        return (
            self.name in {"", element.name}
            and self.classes <= element.classes
            and (not self.ids or self.ids == {element.id})
        )


class _Rule(NamedTuple):
    compounds: tuple[_Compound, ...]
    declarations: Declarations
    weight: tuple[int, int, int, int]


def declarations(text: str) -> Declarations:
    """Return property → value, in lower case; a later one wins unless an earlier one is `!important`."""
    found: Declarations = {}
    if "/*" in text:
        text = _COMMENT.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    for name, value in _DECLARATION.findall(text):
        said = value.strip().lower()
        if "!important" in found.get(name.lower(), "") and "!important" not in said:
            continue
        found[name.lower()] = said
    return found


def overlaid(under: Declarations, over: Declarations) -> Declarations:
    """Return the declarations of both; the upper ones win except against `!important`."""
    merged = dict(under)
    for name, value in over.items():
        if "!important" not in merged.get(name, "") or "!important" in value:
            merged[name] = value
    return merged


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        code = int(found[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return found[2]


class Exhausted(Exception):
    """Matching took more steps than any real style sheet needs."""


class Stylesheet:
    """The rules of a message's `<style>` elements, by what their last part asks for."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[_Rule]] = {}
        self._count = 0
        self._steps = 0

    def add(self, text: str) -> None:
        """Take the rules of one style element; conditional blocks are passed over, as they hide for some screens only."""
        for selectors, block in _rules(_COMMENT.sub("", text).replace("<!--", "").replace("-->", "")):
            said = declarations(block)
            if not said:
                continue
            for selector in selectors.split(",")[:200]:
                compounds = _compounds(selector)
                if compounds and self._count < RULES:
                    self._count += 1
                    self._by_key.setdefault(_key(compounds[-1]), []).append(
                        _Rule(compounds, said, (*_specificity(compounds), self._count))
                    )

    def of(self, element: Element, ancestors: Sequence[Element]) -> Declarations:
        """Return what the rules say of an element. Raises `Exhausted`."""
        if not self._by_key:
            return {}
        keys = [
            element.name,
            "*",
            *(f".{name}" for name in element.classes),
            *([f"#{element.id}"] if element.id else []),
        ]
        fitting = [rule for key in keys for rule in self._by_key.get(key, ()) if self._fits(rule, element, ancestors)]
        found: Declarations = {}
        for rule in sorted(fitting, key=lambda rule: rule.weight):
            found = overlaid(found, rule.declarations)
        return found

    def _fits(self, rule: _Rule, element: Element, ancestors: Sequence[Element]) -> bool:
        self._spend(1)
        if not rule.compounds[-1].fits(element):
            return False
        place = len(ancestors)
        direct = rule.compounds[-1].child
        for compound in reversed(rule.compounds[:-1]):
            place = self._above(compound, ancestors, place, direct=direct)
            if place < 0:
                return False
            direct = compound.child
        return True

    def _above(self, compound: _Compound, ancestors: Sequence[Element], place: int, *, direct: bool) -> int:
        while place > 0:
            place -= 1
            self._spend(1)
            if compound.fits(ancestors[place]):
                return place
            if direct:
                return -1
        return -1

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS:
            raise Exhausted


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """Yield (selectors, block) of every rule that always applies."""
    at = 0
    while (brace := text.find("{", at)) >= 0:
        head = text[at:brace].rpartition(";")[2].strip()
        if not head.startswith("@"):
            end = text.find("}", brace)
            end = len(text) if end < 0 else end
            yield head, text[brace + 1 : end]
            at = end + 1
        elif _EVERYWHERE.fullmatch(head):
            at = brace + 1  # its rules follow; its closing brace is taken for the beginning of a selector and dropped
        else:
            at = _block_end(text, brace)


def _block_end(text: str, brace: int) -> int:
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, brace):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    return len(text)


def _compounds(selector: str) -> tuple[_Compound, ...]:
    """Read a selector of names, classes, ids, descendants and children; any other is not understood and empty."""
    words = selector.lstrip("} \t\r\n").replace(">", " > ").split()
    found: list[_Compound] = []
    child = False
    for word in words[:12]:
        if word == ">":
            child = True
            continue
        parsed = _COMPOUND.fullmatch(word.removesuffix(":link"))
        if parsed is None:
            return ()
        marks = _MARK.findall(parsed[2] or "")
        name = "" if parsed[1] in {None, "*"} else parsed[1].lower()
        ids = frozenset(text for mark, text in marks if mark == "#")
        found.append(_Compound(name, ids, frozenset(text for mark, text in marks if mark == "."), child))
        child = False
    return tuple(found)


def _key(compound: _Compound) -> str:
    if compound.ids:
        return f"#{min(compound.ids)}"
    if compound.classes:
        return f".{min(compound.classes)}"
    return compound.name or "*"


def _specificity(compounds: tuple[_Compound, ...]) -> tuple[int, int, int]:
    return (
        sum(len(one.ids) for one in compounds),
        sum(len(one.classes) for one in compounds),
        sum(bool(one.name) for one in compounds),
    )


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
