"""The key of a handle on IMAP: UIDVALIDITY and UID in base 36, `sd2egw-2n9c`. Read and written here only.

One spelling a message: `read(write(v, u)) == (v, u)`, and any other text is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.domain.mail import Mailbox

LARGEST = 0xFFFF_FFFF
"""UIDVALIDITY and UID are non-zero unsigned 32-bit numbers (RFC 9051 §2.3.1.1)."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS = tuple(high + low for high in _DIGITS for low in _DIGITS)
_HUNDRED = 36 * 36
_KEY = re.compile(r"([1-9a-z][0-9a-z]{0,6})-([1-9a-z][0-9a-z]{0,6})")


def base36(number: int) -> str:
    """A number that is not negative, in the fewest lower-case digits."""
    digits = ""
    while number >= _HUNDRED:
        number, pair = divmod(number, _HUNDRED)
        digits = _PAIRS[pair] + digits
    return (_PAIRS[number] + digits).lstrip("0") or "0"


def write(uidvalidity: int, uid: int) -> str:
    """The key of one message of one mailbox."""
    return f"{base36(uidvalidity)}-{base36(uid)}"


def read(key: str) -> tuple[int, int]:
    """UIDVALIDITY and UID of a key. Raises `Invalid` (`invalid_handle`) unless `write` could have made it."""
    found = _KEY.fullmatch(key)
    if found is not None:
        uidvalidity, uid = int(found[1], 36), int(found[2], 36)
        if uidvalidity <= LARGEST and uid <= LARGEST:
            return uidvalidity, uid
    raise Invalid(
        "this is not a handle of this account", code="invalid_handle", next="copy the handle exactly from a result"
    )


def handles(mailbox: Mailbox, uidvalidity: int) -> Callable[[int], Handle]:
    """What makes the handle of each occurrence in one mailbox from its UID."""
    account, tag, generation = mailbox.account, mailbox.tag, base36(uidvalidity)
    return lambda uid: Handle(account, tag, f"{generation}-{base36(uid)}")


def handle(mailbox: Mailbox, uidvalidity: int, uid: int) -> Handle:
    """The handle of one occurrence."""
    return handles(mailbox, uidvalidity)(uid)
