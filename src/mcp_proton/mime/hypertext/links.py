"""Links as short numbered references: `[1]` in the text, the true target in a list at its end."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from mcp_proton.mime.decoding.characters import line

MOST = 300
LONGEST = 2_000

_HOST = re.compile(
    r"(?:https?://)?(?:[^\s/@]{1,64}@)?((?:[\w-]{1,63}\.)+[^\W\d_][\w-]{1,62})\.?(?=[/:?#\s]|\Z)", re.IGNORECASE
)
_STRIPPED = re.compile(r"[\t\r\n]")
_FOLLOWED = ("http://", "https://", "mailto:", "tel:", "sms:", "ftp://", "//")


class Links:
    """The targets of one document, numbered in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._shown: dict[int, str] = {}
        self.left_out = False

    def mark(self, href: str, text: str) -> str:
        """Return what stands behind a link's text: ` [n]`, or nothing where the text already is the target."""
        target = _target(href)
        if not target or target.startswith("#"):
            return ""
        bare = text.strip()
        if bare and bare.rstrip("/") in {
            target.rstrip("/"),
            target.removeprefix("mailto:"),
            target.removeprefix("tel:"),
        }:
            return ""
        if target not in self._numbers and len(self._numbers) >= MOST:
            self.left_out = True
            return " [link]"
        number = self._numbers.setdefault(target, len(self._numbers) + 1)
        pretended = differing_host(bare, target)
        if pretended:
            self._shown[number] = pretended
        return f" [{number}]"

    @property
    def differs(self) -> bool:
        """Whether a link's text shows another host than its target."""
        return bool(self._shown)

    def listed(self) -> str:
        """Return the list of targets, one a line; one whose text pretends another host says so."""
        return "\n".join(
            f"[{number}] {target}" + (f" (shown as {self._shown[number]})" if number in self._shown else "")
            for target, number in self._numbers.items()
        )


def differing_host(text: str, target: str) -> str:
    """Return the host that a link's text shows where the target's is neither it, nor above, nor below it; else ""."""
    shown = _HOST.match(text)
    actual = host(target)
    if shown is None or not actual:
        return ""
    said = _comparable(shown[1])
    if said == actual or actual.endswith(f".{said}") or (said.endswith(f".{actual}") and "." in actual):
        return ""
    return said


def host(target: str) -> str:
    """Return the host a target leads to, or the domain of a mail address, comparable; "" where there is none."""
    if target.lower().startswith("mailto:"):
        return _comparable(target.partition("?")[0].rpartition("@")[2])
    try:
        return _comparable(urlsplit(target).hostname or "")
    except ValueError:
        return ""


def _comparable(name: str) -> str:
    return name.lower().strip(".").removeprefix("www.")


def _target(href: str) -> str:
    """Return a target as a browser would read it; of one that no reader follows (script, data) only the beginning."""
    target = line(_STRIPPED.sub("", href)).replace(" ", "%20")
    followed = target.lower().startswith(_FOLLOWED) or ":" not in target.split("/", 1)[0]
    longest = LONGEST if followed else 60
    return target if len(target) <= longest else f"{target[:longest]}…"
