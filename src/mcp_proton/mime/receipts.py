"""Receipts: whether a message in a file is the one that left, to the octet (A-40, N-6). Needs no server.

Servers put fields before a message (RFC 5321 §4.4), the owner's own copy names Bcc, and programs store line ends their own
way: all that is taken off before the octets are compared, and nothing else.
"""

from __future__ import annotations

import hashlib
import re

_FIELD = re.compile(rb"[^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*")
_ENDS = re.compile(rb"\r\n|\r|\n")


def digests(raw: bytes) -> frozenset[str]:
    """Return the digests that a message may have had when it left: as it is, and without what was put to it since."""
    lines = _ENDS.sub(b"\r\n", raw)
    head, blank, body = lines.partition(b"\r\n\r\n")
    fields = _FIELD.findall(head + b"\r\n")
    first = next((place for place, one in enumerate(fields) if one.lower().startswith(b"from:")), 0)
    ours = [one for one in fields[first:] if not one.lower().startswith(b"bcc:")]
    bare = b"".join(ours) + blank[2:] + body
    return frozenset(hashlib.sha256(one).hexdigest() for one in (raw, lines, bare))
