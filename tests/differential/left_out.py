"""What is not compared or never said, each with its reason; nothing else may differ."""

from __future__ import annotations

import re

NOT_COMPARED = {
    r"\Recent": "which of two sessions has a new message as recent is a race in the engine",
    "order of LIST and FETCH lines": "Bridge answers in parallel, in any order",
    "order of flags in a list": "a set",
}
# What the generator never says, as a pattern of a step.
NOT_SAID = {
    r"\\[a-z]|\$f|\bforwarded": "the engine shows a flag as it was first spelled, the simulator in its usual spelling",
    r"\bIDLE\b": "what is told during IDLE comes in batches of half a second by the clock; recordings show it",
    r"\bRECENT\b|\b(?:NEW|OLD)\b": r"asks for \Recent",
    r"\b(?:BODY|RFC822)(?:\[\])? ": "the engine's own id in the header has other digits at every run",
}

_RECENT = re.compile(r"\* \d+ RECENT")
_MARK = re.compile(r"\\(?:Unm|M)arked ?")


def without_recent(lines: list[str]) -> list[str]:
    r"""An answer without anything of \Recent: the flag, the count, and LIST's \Marked, which says the same."""
    cleaned = [re.sub(r"\\Recent ?", "", _MARK.sub("", line)).replace(" )", ")") for line in lines]
    return [line for line in cleaned if not _RECENT.fullmatch(line)]
