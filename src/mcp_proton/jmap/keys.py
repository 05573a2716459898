"""The key of an occurrence: the Email id, as it is (RFC 8620 §1.2 keeps ids URL-safe).

INVARIANT: an id alone says nothing of the mailbox a handle names. Whoever reads a message by a key demands that it is in
that mailbox (`occurrences`), or a handle could be forged into a mailbox its caller may see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.jmap.protocol import values

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Mailbox


def read(key: str) -> str:
    """The Email id of a key. Raises `Invalid` (`invalid_handle`) for what can be none."""
    if not values.is_identifier(key):
        raise Invalid(
            "this is not a handle of this account", code="invalid_handle", next="copy the handle exactly from a result"
        )
    return key


def handle(mailbox: Mailbox, email_id: str) -> Handle:
    """The handle of a message in one of its mailboxes."""
    return Handle(mailbox.account, mailbox.tag, email_id)
