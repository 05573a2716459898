"""Addressees: whom a request writes to, read once into plain addresses that can go on a wire and be judged (N-7).

An address is `local@domain`, with the domain in its ASCII form; a name is carried as given and never invented (J-137).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Address
from mcp_proton.mime.composing.addressing import travelling
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.services.fields import Mark, listed

MOST = 100
"""Recipients of one mail: what Proton takes."""
_ENTRY = re.compile(
    r"""\s*(?:(?P<name>(?:"(?:[^"\\]|\\.)*"|[^"<>,])*?)\s*<(?P<angle>[^<>\s,"]+)>|(?P<bare>[^<>\s,"]+))\s*(?:,|\Z)"""
)

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def plain(email: str) -> str | None:
    """Return an address as it goes on the wire, or None for what is not exactly one."""
    try:
        return travelling("", Address("", email.strip())).email
    except MailError:
        return None


def read(text: str) -> list[Address]:
    """Read one entry: `a@b`, `Name <a@b>`, or several with commas. ValueError for anything else.

    Mail that comes in is read for what it may mean; an address to write to means what it says to the letter, or nothing.
    """
    plainly = "" if _CONTROLS.search(text) else " ".join(text.split())
    found: list[Address] = []
    at = 0
    while at < len(plainly) or not found:
        entry = _ENTRY.match(plainly, at)
        email = None if entry is None else plain(entry["angle"] or entry["bare"])
        if entry is None or email is None:
            raise ValueError("not an address; write `anna@example.org` or `Anna <anna@example.org>`, each on its own")
        named = addresses(f"{entry['name']} <a@b>") if entry["name"] else ()
        found.append(Address(named[0].name if named else "", email))
        at = entry.end()
    return found


def people(entries: Sequence[str]) -> tuple[Address, ...]:
    """Return the addresses of a field, each once."""
    return once(address for entry in entries for address in read(entry))


def once(found: Iterable[Address]) -> tuple[Address, ...]:
    """Leave out what was named before, in any case of letters."""
    kept: dict[str, Address] = {}
    for one in found:
        kept.setdefault(one.email.casefold(), one)
    return tuple(kept.values())


def key(email: str) -> str:
    """Return what two spellings of one address have in common."""
    return (plain(email) or email).casefold()


def _canonical(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(one) for one in people(entries))


def _one(entry: str | None) -> str | None:
    if entry is None or not entry.strip():
        return None
    found = read(entry)
    if len(found) != 1:
        raise ValueError("exactly one address is meant here")
    return found[0].email


Recipients = Annotated[
    tuple[Annotated[str, Field(max_length=2_000)], ...],
    BeforeValidator(listed),
    AfterValidator(_canonical),
    Field(max_length=MOST, description="addresses"),
    Mark.RECIPIENT,
]
Sender = Annotated[
    Annotated[str, Field(max_length=2_000)] | None,
    AfterValidator(_one),
    Field(description="one of the account's addresses"),
    Mark.TOKEN,
]
