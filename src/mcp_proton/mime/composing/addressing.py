"""Addresses that we write: checked, with domains as they travel (IDNA), spelled alike in header and envelope.

What could end a header field or an SMTP command early is refused, naming the field and never the value; so are quoted
local parts, which Bridge reads without their quotes and then does not find in the envelope.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import idna

from mcp_proton.domain.errors import Invalid
from mcp_proton.mime.decoding.characters import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Address
    from mcp_proton.domain.outgoing import Letter

LONGEST = 254
"""Octets of an address: what an SMTP path of 256 leaves (RFC 5321 §4.5.3.1.3)."""

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\ud7ff\ue000-\U0010ffff-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_DOMAIN = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*"
)
_LITERAL = re.compile(r"\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\]")


def addressed(letter: Letter) -> Letter:
    """Return the letter with every address as it travels, so that header and `recipients` are equal to the octet.

    Local parts and names stay as they are; a domain in letters beyond ASCII becomes its A-label (RFC 5890). Raises
    `Invalid` naming the field that holds something else than a plain `local@domain`. Idempotent.
    """
    return replace(
        letter,
        sender=travelling("sender", letter.sender),
        to=_all("to", letter.to),
        cc=_all("cc", letter.cc),
        bcc=_all("bcc", letter.bcc),
        reply_to=_all("reply_to", letter.reply_to),
    )


def _all(name: str, given: Sequence[Address]) -> tuple[Address, ...]:
    return tuple(travelling(f"{name}[{place}]", one) for place, one in enumerate(given))


def travelling(field: str, address: Address) -> Address:
    """Return one address as it travels, or raise `Invalid` naming `field`."""
    local, _, domain = address.email.rpartition("@")
    travels = label(domain)
    email = f"{local}@{travels}"
    if travels is None or not _LOCAL.fullmatch(local) or line(local) != local or len(email.encode()) > LONGEST:
        raise Invalid(f"`{field}` is not an address of the form `local@domain`", next="give one plain address an entry")
    return replace(address, email=email)


def usable(address: Address) -> bool:
    """Whether mail can be sent to it."""
    try:
        travelling("", address)
    except Invalid:
        return False
    return True


def needs_smtputf8(letter: Letter) -> bool:
    """Whether a local part holds letters beyond ASCII, so that only a server with SMTPUTF8 can take the letter (RFC 6531)."""
    return any(
        not one.email.rpartition("@")[0].isascii()
        for one in (letter.sender, *letter.to, *letter.cc, *letter.bcc, *letter.reply_to)
    )


def label(domain: str) -> str | None:
    """Return a domain as it travels, or None if it is none."""
    if _LITERAL.fullmatch(domain) or _DOMAIN.fullmatch(domain):
        return domain
    if domain.isascii() or len(domain) > LONGEST:
        return None
    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None
