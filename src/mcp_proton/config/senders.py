"""The addresses an account sends as, written as people write them: `Name <a@b>` or `a@b`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.role_addresses import is_role_address
from mcp_proton.imap.submission import mail_paths
from mcp_proton.mime.header.addresses import addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def sender(text: str) -> str:
    """Return the text. Raises ValueError unless it is one address, with or without a name."""
    _read(text)
    return text


def identities(written: Sequence[str], signatures: Mapping[str, str]) -> tuple[Identity, ...]:
    """Return the identities, each with its signature. Raises ValueError for an address named twice, or a stray signature."""
    named = {email.lower(): text.rstrip() for email, text in signatures.items()}
    found: dict[str, Identity] = {}
    for text in written:
        one = _read(text)
        key = one.email.lower()
        if key in found:
            raise ValueError("names an address twice in `identities`")
        found[key] = Identity(one.email, one.name, role=is_role_address(one.email), signature=named.pop(key, ""))
    if named:
        raise ValueError("has a signature for an address that is not one of `identities`")
    return tuple(found.values())


def _read(text: str) -> Identity:
    try:
        [one] = addresses(text) if text.isprintable() else ()
        return Identity(mail_paths.check(one.email), one.name)
    except (ValueError, Invalid):
        raise ValueError("must be one address, with or without a name: `Name <me@example.org>`") from None
