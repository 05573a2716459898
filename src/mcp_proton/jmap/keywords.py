"""Flags between our words and JMAP's keywords (RFC 8621 §4.1.1)."""

from __future__ import annotations

import re

from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.mail import Flag

_KEYWORD = re.compile(r"[A-Za-z0-9_$.+-]{1,64}")
_KEPT = {flag.value: f"${flag.value}" for flag in Flag if flag is not Flag.DELETED}


def theirs(flag: str) -> str:
    """One of our words (or a keyword) as JMAP spells it: in lower case.

    Raises `Unsupported` (`flag_not_kept`) for `deleted`, which is no keyword here, and `Invalid` for what no flag can be.
    """
    known = _KEPT.get(flag)
    if known is not None:
        return known
    if flag == Flag.DELETED or flag.lower() == "$deleted":
        raise Unsupported("this account marks nothing as deleted: delete it instead", code="flag_not_kept")
    if not _KEYWORD.fullmatch(flag):
        raise Invalid("a keyword has 1 to 64 letters, digits or any of `_ $ . + -`", code="invalid_flag")
    return flag.lower()
