"""Text terms → what a server's own index finds for them (RFC 8621 §4.4.1): for accounts too large to be looked through.

Servers look for words, each in its own way, so this finds some of what matches and perhaps more: what it finds is looked
at here, and the answer says that there may be other messages. Where nothing comes of it, all messages are looked through.
What must not be missed (a Message-ID) is never left to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.domain.query import And, Contains, Field, HeaderContains, Or, Query
from mcp_proton.jmap.finding import filters

if TYPE_CHECKING:
    from mcp_proton.jmap.finding.filters import Filter

SCANNED = 2_000
"""candidates that are looked through one by one; where there are more, the server's index is asked"""
WITHOUT = frozenset({"unsupportedFilter", "serverFail", "invalidArguments", "unknownMethod"})
"""how servers say that they have no such index"""
WHY = (
    f"of more than {SCANNED} messages the mail server's index was asked, which finds whole words: "
    "narrow it by date or mailbox to have every message looked at"
)
NOTHING = (
    "the mail server's index found nothing; messages are looked at one by one, and the time was used up: "
    "go on with the cursor, or narrow it by date or mailbox"
)
_FIELDS = {
    Field.FROM: ("from",),
    Field.TO: ("to",),
    Field.CC: ("cc",),
    Field.BCC: ("bcc",),
    Field.PARTICIPANT: ("from", "to", "cc"),
    Field.SUBJECT: ("subject",),
    Field.BODY: ("body",),
    Field.TEXT: ("text",),
}
_SYNTAX = re.compile(r"[\"'\\*]")
"""what means something to a server's index: quotes, escapes, wildcards"""


def condition(query: Query) -> Filter | None:
    """What the index is asked for; None where it is of no help."""
    match query:
        case And(terms):
            return filters.joined(*map(condition, terms))
        case Or(terms):
            options = [condition(term) for term in terms]
            return None if None in options else filters.any_of([one for one in options if one is not None])
        case Contains(field, text):
            words = _SYNTAX.sub(" ", text).strip()
            return filters.any_of([{name: words} for name in _FIELDS[field]]) if words else None
        case HeaderContains(name, text):
            words = _SYNTAX.sub(" ", text).strip()
            return {"header": [name, words] if words else [name]}
    return None
