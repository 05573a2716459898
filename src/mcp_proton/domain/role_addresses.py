"""Addresses that name an office, not a person: never a sender unless the owner says so (J-137; the first of them RFC 2142)."""

from __future__ import annotations

ROLE_LOCAL_PARTS = frozenset({
    "abuse", "admin", "administrator", "billing", "contact", "donotreply", "help", "helpdesk", "hostmaster", "hr", "info",
    "jobs", "legal", "mailerdaemon", "marketing", "noc", "noreply", "postmaster", "privacy", "root", "sales", "security",
    "support", "usenet", "webmaster",
})  # fmt: skip
"""25, in lower case and without the hyphens, dots and underscores that some write in them (`no-reply`)."""

_SEPARATORS = str.maketrans("", "", "-_.")


def is_role_address(email: str) -> bool:
    """Whether the local part, its `+tag` left out, is one of the 25, in whatever case and spelling."""
    local = email.rpartition("@")[0] or email
    return local.partition("+")[0].lower().translate(_SEPARATORS) in ROLE_LOCAL_PARTS
