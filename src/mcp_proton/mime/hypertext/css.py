"""As much of CSS as decides whether a text can be seen: declarations and simple selectors. Bounded in rules and steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Declarations = dict[str, str]


RULES = 2_000
STEPS = 1_000_000

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)
_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*((?:[^;()\"']|\([^()]*\)|\"[^\"]*\"|'[^']*')*)", re.IGNORECASE)
_COMPOUND = re.compile(r"([a-zA-Z][\w-]*|\*)?((?:[.#][\w-]+)*)")
_MARK = re.compile(r"([.#])([\w-]+)")
_EVERYWHERE = re.compile(r"@media\s*(?:all|screen|only screen)?\s*$", re.IGNORECASE)


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
