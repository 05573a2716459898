"""Subjects of answers: one `Re: ` or `Fwd: ` in front, whatever other programs and languages had put there."""

from __future__ import annotations

import re

LONGEST = 500
"""Octets of the subject of an answer in UTF-8; a stranger's longer one is cut."""

_COUNT = r"(?:\s?[\[(]\d{1,3}[\])]|\^\d{1,3})?"
_END = rf"{_COUNT}\s?[:：]\s*"
_REPLY = rf"(?:(?i:re|aw|antw|sv|odp|ynt|vá|rif|απ|ответ|отв|回复|回覆|答复|答覆|返信|답장|回信)|RES|VS|R){_END}"
_FORWARD = rf"(?:(?i:fwd?|wg|doorst|továbbítás|προωθ|转发|轉寄|転送|전달)|TR|RV|ENC|VB|VL|PD|I|İLT|ПЕР){_END}"
_LIST = r"(?:\[[^\[\]]{1,60}\]\s*)?"
_REPLIES = re.compile(rf"({_LIST})(?:{_REPLY})+")
_FORWARDS = re.compile(rf"({_LIST})(?:{_FORWARD})+")


def reply_subject(subject: str) -> str:
    """Return the subject of an answer to a mail with this (decoded) subject."""
    return _prefixed("Re:", _REPLIES, subject)


def forward_subject(subject: str) -> str:
    """Return the subject of a mail that passes on one with this (decoded) subject."""
    return _prefixed("Fwd:", _FORWARDS, subject)


def _prefixed(prefix: str, stacked: re.Pattern[str], subject: str) -> str:
    bare = subject.strip()
    while (found := stacked.match(bare)) is not None:
        bare = f"{found[1]}{bare[found.end() :]}"
    return cut(f"{prefix} {bare}".strip())


def cut(subject: str) -> str:
    """Return at most `LONGEST` octets of a subject, a longer one ended with an ellipsis."""
    octets = subject.encode("utf-8", "replace")
    if len(octets) <= LONGEST:
        return subject
    return f"{octets[: LONGEST - 3].decode('utf-8', 'ignore').rstrip()}…"
