"""Handle: the opaque name of one message occurrence, `<account>.<mailbox tag>.<key>` (P-90).

The mailbox is part of the name, so policy can scope it without asking anybody. The key belongs to the backend:
nobody else reads it. A handle never carries a mailbox name, a UID in plain sight or anything a stranger wrote.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

from mcp_proton.domain.errors import Invalid

SLUG = r"[a-z][a-z0-9-]{0,15}"
_HANDLE = re.compile(rf"({SLUG})\.([a-z2-7]{{6}})\.([A-Za-z0-9_-]{{1,255}})")


@dataclass(frozen=True, slots=True)
class Handle:
    """One message in one mailbox of one account."""

    account: str
    tag: str
    key: str

    @classmethod
    def parse(cls, text: str) -> Handle:
        """Read a handle. Raises `Invalid` unless the text is exactly what `str(handle)` gives."""
        found = _HANDLE.fullmatch(text)
        if found is None:
            raise Invalid("this is not a handle", next="copy the handle exactly from a result", code="invalid_handle")
        return cls(*found.groups())

    def __str__(self) -> str:
        return f"{self.account}.{self.tag}.{self.key}"


@lru_cache(maxsize=4096)
def mailbox_tag(mailbox_id: str) -> str:
    """Return the first 30 bits of a hash of the backend's mailbox id, as six letters: stateless, no name in it."""
    digest = hashlib.sha256(mailbox_id.encode("utf-8", "surrogateescape")).digest()
    return base64.b32encode(digest[:4]).decode("ascii")[:6].lower()
