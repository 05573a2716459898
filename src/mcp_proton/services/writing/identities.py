"""Identities: From is always one of the account's own addresses, and never the first of a list by chance (J-02, J-137)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.mail import Address, Identity
from mcp_proton.services.writing.addressees import key


def choose(identities: Sequence[Identity], wanted: str | None, written_to: Iterable[Address] = ()) -> Identity:
    """Return the identity to write as: the one named, else the one the message answered was written to, else the only one.

    `Invalid` names the choices; `Unsupported` where the account has none.
    """
    by_key = {key(one.email): one for one in identities}
    if not by_key:
        raise Unsupported(
            "no address is known that this account may send as",
            code="no_identity",
            next="ask the owner to write the account's addresses into config.toml",
        )
    if wanted is not None:
        if key(wanted) in by_key:
            return by_key[key(wanted)]
        raise Invalid("`from` is not an address of this account", code="not_your_address", next=_choices(identities))
    reached = {key(one.email) for one in written_to} & by_key.keys()
    if len(reached) == 1:
        return by_key[reached.pop()]
    if len(by_key) == 1:
        return next(iter(by_key.values()))
    raise Invalid("this account has several addresses", code="which_identity", next=_choices(identities))


def _choices(identities: Sequence[Identity]) -> str:
    return "give `from` as one of: " + ", ".join(sorted(one.email for one in identities))
