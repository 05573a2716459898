"""Addresses as an SMTP envelope carries them (RFC 5321 §4.1.2): plain `local@domain`, checked by us.

Servers and libraries are lenient in dangerous ways: one strips what follows a line end, another takes
`a@b> NOTIFY=NEVER` for an address.
"""

from __future__ import annotations

import re

from mcp_proton.domain.errors import Invalid

LONGEST = 254
LONGEST_LOCAL = 64
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a0-\U0010ffff-]+"
_LABEL = r"[A-Za-z0-9\u00a0-\U0010ffff](?:[A-Za-z0-9\u00a0-\U0010ffff_-]*[A-Za-z0-9\u00a0-\U0010ffff])?"
_PATH = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@{_LABEL}(?:\.{_LABEL})*")


def check(address: str) -> str:
    """Return the address. Raises `Invalid` (`invalid_address`) for what no envelope should carry."""
    found = _PATH.fullmatch(address)
    octets = address.encode("utf-8", "replace")
    if found is None or len(octets) > LONGEST or len(found[1].encode("utf-8", "replace")) > LONGEST_LOCAL:
        raise Invalid("an address is not of the form `name@domain`", code="invalid_address")
    if not address.isprintable():
        raise Invalid("an address holds characters that cannot be seen", code="invalid_address")
    return address


def without_tag(address: str) -> str:
    """The address a `+tag` belongs to."""
    local, _, domain = address.rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"
