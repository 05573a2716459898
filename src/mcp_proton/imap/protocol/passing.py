"""News of flags, passed over many lines at a time: nobody keeps flags, and after a change of thousands the server tells
each to every session. Read one by one they would take longer than the command that brings them."""

from __future__ import annotations

import re

from mcp_proton.imap.protocol.asks import Plain, Taken

_NUMBER = rb"[0-9]{1,20}"
_FLAGS_ALONE = re.compile(
    rb"(?:\* %b FETCH \((?:UID %b )?+(?:FLAGS \([^()\r\n\"{]*+\)|MODSEQ \(%b\))(?: UID %b)?+(?: MODSEQ \(%b\))?+\)\r\n)*+"
    % ((_NUMBER,) * 5)
)
"""as Dovecot, Cyrus and Bridge spell them; in any other spelling they go the usual way"""


class Passing(Plain):
    """A command whose only answer is its tagged OK, on whose way news of flags may come."""

    reads_lines = True
    skims = True

    def take_lines(self, lines: memoryview) -> Taken:
        """Pass over the lines that tell flags and no more."""
        found = _FLAGS_ALONE.match(lines)
        return Taken(0 if found is None else found.end(), 0)
