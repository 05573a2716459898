"""Where the links of a text lead, as they really are: of HTML whatever can be followed or is loaded, hidden or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.hypertext.links import differing_host
from mcp_proton.mime.hypertext.markup import Start, Text, events

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'\])}]{1,2000}", re.IGNORECASE)
_LOADED = {
    "img": "src",
    "link": "href",
    "iframe": "src",
    "script": "src",
    "audio": "src",
    "video": "src",
    "embed": "src",
}
_REMOTE = ("http://", "https://", "//", "ftp://")
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Target:
    """One target. `pretended` is another host that the link's text shows; `loaded`: fetched when the mail is opened."""

    url: str
    pretended: str = ""
    loaded: bool = False


def in_text(text: str) -> tuple[Target, ...]:
    """Return what looks like a link in plain text, each once."""
    return tuple(dict.fromkeys(Target(_shown(one[0].rstrip(".,;:!?"))) for one in _URL.finditer(text)))


def in_html(source: str) -> tuple[Target, ...]:
    """Return every target of an HTML document, each once."""
    return tuple(dict.fromkeys(_found(source)))


def _found(source: str) -> Iterator[Target]:
    href, words = "", [""]
    for event in events(source, set()):
        match event:
            case Text(text):
                words.append(text)
            case Start("a" | "area", attributes) if attributes.get("href"):
                if href:
                    yield _link(href, words)
                href, words = attributes["href"], [""]
            case Start("form", attributes) if attributes.get("action"):
                yield Target(_shown(attributes["action"]))
            case Start(name, attributes) if name in _LOADED:
                url = attributes.get(_LOADED[name], "").strip()
                if url.lower().startswith(_REMOTE):
                    yield Target(_shown(url), loaded=True)
            case _:
                if href and getattr(event, "name", "") == "a":
                    yield _link(href, words)
                    href = ""
    if href:
        yield _link(href, words)


def _link(href: str, words: list[str]) -> Target:
    return Target(_shown(href), differing_host(line("".join(words)), href))


def _shown(url: str) -> str:
    plain = line(url)
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}…"
