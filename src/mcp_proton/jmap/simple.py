"""The text of simple messages, decoded by the server and told along with what else is asked of them.

Simple: one text, whole, decoded without trouble, and not laid out in a way that has to be undone. Any other message is read
by our own parser, which sees what the server's does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.jmap.protocol import values
from mcp_proton.mime.hypertext import html
from mcp_proton.mime.structure import selecting

if TYPE_CHECKING:
    from mcp_proton.jmap.protocol.values import Object

LONGEST = 32 * 1024
"""octets of one text"""
PROPERTIES = ("textBody", "bodyValues")
ASKED: Object = {
    "bodyProperties": ["partId", "type", "header:Content-Type:asRaw"],
    "fetchTextBodyValues": True,
    "maxBodyValueBytes": LONGEST,
}
"""what Email/get is asked beside the properties"""
_FLOWED = re.compile(r"format\s*=\s*\"?flowed", re.IGNORECASE)


def text(email: Object) -> str | None:
    """What a person would read; None where the message is not simple."""
    parts = [values.mapping(one) for one in values.sequence(email.get("textBody") or [])]
    if len(parts) != 1:
        return None
    kind = values.text(parts[0].get("type")).lower()
    told = values.mapping(values.mapping(email.get("bodyValues") or {}).get(values.text(parts[0].get("partId"))) or {})
    if told.get("isEncodingProblem") is not False or told.get("isTruncated") is not False:
        return None
    found = values.text(told.get("value")).replace("\r\n", "\n")
    if kind == "text/html":
        return html.to_text(found).text
    flowed = _FLOWED.search(values.text(parts[0].get("header:Content-Type:asRaw")))
    return None if kind != "text/plain" or flowed or selecting.is_stub(found) else found
