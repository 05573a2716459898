"""Strangers' text, made safe to stand in front of an agent: mail is data.

What cannot be seen is taken out, and marks that pretend to be the conversation's own (roles, special tokens, fences, tool
results, our wrapper) have their first character written as an entity: `<system>` becomes `&#x3C;system>`. Nothing is lost,
a person sees what was there. Every function is pure, linear in the text and idempotent.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.file_names import file_name
from mcp_proton.mime.suspicion import suspicion

__all__ = ["file_name", "neutralise", "suspicion"]

_ROLES = (
    r"(?:system|assistant|user|human|developer|model|tool|function|admin|instructions?|prompt|context|thinking|reasoning"
    r"|tool[_-]?(?:result|use|call|response|output)s?|function[_-]?(?:call|result|response|output)s?|invoke|parameter"
    r"|start_of_turn|end_of_turn|bos|eos|s|untrusted|trusted|external|(?:antml|email|mail|mcp)(?:[:_-][\w-]{1,40})|email|result"
    r"|(?:system|user|assistant|untrusted|trusted)[_-][\w-]{1,40})"
)
SHORT = 256
_OPENING = "<\uff1c\u2039\u27e8\u3008\ufe64\u02c2\u276e"
_INLINE = re.compile(
    rf"[{_OPENING}\[\uff3b](?:"
    rf"(?<=[{_OPENING}])(?=\s{{0,3}}[/\u2215\u2044]?\s{{0,3}}{_ROLES}(?:[\s/:]|[>\uff1e\u203a\u27e9\u3009]|\Z))"
    rf"|(?<=[{_OPENING}])(?=[|\uff5c\u2502][^>\n|\uff5c]{{1,60}}[|\uff5c\u2502]?[>\uff1e])"
    rf"|(?<=[{_OPENING}])(?=[{_OPENING}]\s{{0,3}}/?\s{{0,3}}SYS\s{{0,3}}>>)"
    r"|(?<=[\[\uff3b])(?=\s{0,3}/?\s{0,3}"
    r"(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|TOOL_CONTENT)\s{0,3}[\]\uff3d])"
    ")",
    re.IGNORECASE,
)
_AT_LINE_START = re.compile(
    r"[#HA=*_~<\[-](?<![^\n].)(?:"
    r"(?<=#)(?=#{1,5}[ \t]{0,3}(?:system|instructions?|response|human|assistant|user|input|tool)\b)"
    r"|(?<=H)(?=uman[ \t]?:)|(?<=A)(?=ssistant[ \t]?:)"
    r"|(?<=[-=*_#~<\[])(?=[-=*_#~<\[ \t]{0,60}(?:begin|end|start|stop)[ \t_-]{1,3}(?:of[ \t_-]{1,3})?"
    r"(?:the[ \t]{1,3})?(?:untrusted|trusted|external|e-?mail|mail|message|tool|system|user|content|data|result)\b)"
    ")",
    re.IGNORECASE,
)


def neutralise(text: str) -> str:
    """Return the text without what cannot be seen and with every mark of a conversation escaped (J-121, J-123)."""
    return _again(text) if len(text) <= SHORT else _neutralised(text)


def _neutralised(text: str) -> str:
    text = visible(text).text
    if not text.isascii() or "<" in text or "[" in text:
        text = _INLINE.sub(_entity, text)
    if "\n" in text:
        return _AT_LINE_START.sub(_entity, text)
    # Most texts are a line: only where it begins can a line begin.
    found = _AT_LINE_START.match(text)
    return text if found is None else _entity(found) + text[found.end() :]


_again = lru_cache(4096)(_neutralised)
"""Lists show the same subjects and correspondents again and again."""


def _entity(found: re.Match[str]) -> str:
    return f"&#x{ord(found[0]):X};"
