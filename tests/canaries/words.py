"""What must not be heard: the shapes of addresses and secrets, and every subject, name, text and password that was planted."""

from __future__ import annotations

import re
from email.header import decode_header, make_header
from email.utils import getaddresses

SHAPES = {
    "an address": re.compile(r"(?<![\w/:])[\w.+-]+@(?!sha256)[\w-]+(\.[\w-]+)*\.[a-z]{2,}\b", re.IGNORECASE),
    "a client's token": re.compile(r"mcpp_[a-z0-9]+_[\w-]{8,}"),
    "a refresh token": re.compile(r"mcpr_[\w-]{8,}"),
    "a signed token": re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}"),
    "a secret of 256 bits": re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{43}(?![\w-])"),
    "a login": re.compile(r"\b(Basic|Bearer) [\w+/-]{8,}"),
}
SHORTEST = 8
"""Letters a word has at least. A subject or a name has several words: "Hello" and "recipients" may be said by anybody."""
MOST = 5_000
"""Words kept in one process, the latest: a test may fill a mailbox with 50,000 messages."""
OURS = {"mcp-proton", "personal"}
"""Our name, which writes messages of its own too, and the owner's for an account."""
_PLANTED: dict[str, str] = {}
_HEADER = re.compile(rb"^(subject|from|to|cc|reply-to):((?:[^\r\n]|\r?\n[ \t])*)", re.IGNORECASE | re.MULTILINE)
_FILE = re.compile(rb'\bfilename="([^"\r\n]+)"', re.IGNORECASE)


def plant(kind: str, word: str) -> None:
    """Make a word a canary, unless anybody may say it."""
    if len(word) >= SHORTEST and word not in OURS:
        _PLANTED.pop(word, None)
        _PLANTED[word] = kind
        if len(_PLANTED) > MOST:
            del _PLANTED[next(iter(_PLANTED))]


def planted(kind: str, word: str) -> str:
    """Make a word a canary, and return it."""
    plant(kind, word)
    return word


def plant_mail(raw: bytes) -> None:
    """Make canaries of a message: its subject, the names in its header, the first line of its text, the names of its files."""
    for kind, word in _words(raw[:20_000]):
        plant(kind, word)


def heard_in(text: str) -> set[str]:
    """Return which kinds of canaries are in a text."""
    kinds = {kind for kind, shape in SHAPES.items() if shape.search(text)}
    return kinds | {kind for word, kind in _PLANTED.items() if word in text}


def _words(raw: bytes) -> tuple[tuple[str, str], ...]:
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    found: list[tuple[str, str]] = []
    for name, value in _HEADER.findall(head):
        text = " ".join(_decoded(value).split())
        shown = (
            [("a subject", text)]
            if name.lower() == b"subject"
            else [("a name", one) for one, _ in getaddresses([text])]
        )
        found += [(kind, words) for kind, words in shown if " " in words]
    found += [("the name of a file", name.decode(errors="replace")) for name in _FILE.findall(raw)]
    first = body.lstrip().partition(b"\n")[0].decode(errors="replace").strip()
    if " " in first and not first.startswith("--"):
        found.append(("a text", first))
    return tuple(found)


def _decoded(value: bytes) -> str:
    text = value.decode(errors="replace")
    try:
        return str(make_header(decode_header(text)))
    except (ValueError, LookupError, UnicodeError):
        return text
