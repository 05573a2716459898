"""What a server's refusal means for the message it is about (RFC 8620 §3.6.2 and §5.3, RFC 8621 §4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, AuthFailed, MailError, NotFound, Unavailable
from mcp_proton.jmap.occurrences import gone
from mcp_proton.jmap.protocol import values

if TYPE_CHECKING:
    from mcp_proton.jmap.errors import MethodFailed
    from mcp_proton.jmap.protocol.values import Object


class ItemRefused(MailError):
    """The server refused to change one message; the others are not touched by that."""

    code = "server_refused"


def of_method(error: MethodFailed) -> MailError:
    """A method-level error in our words. All but one say that nothing was done."""
    match error.kind:
        case "serverPartialFail":
            return not_told()
        case "serverUnavailable" | "serverFail":
            return Unavailable("the mail server cannot do that just now, and did nothing")
        case "accountReadOnly" | "forbidden":
            return AuthFailed("this login may look at the account, not change it", code="read_only")
    return error


def of_item(told: Object) -> MailError:
    """A SetError: why one message was not changed."""
    match values.text(told.get("type")):
        case "notFound":
            return gone()
        case "tooManyKeywords":
            return ItemRefused("a message carries no more flags here", code="flag_not_kept")
        case "tooManyMailboxes":
            return ItemRefused("a message can be in no more mailboxes here", code="too_many_places")
        case "overQuota":
            return ItemRefused("the account is full", code="over_quota")
        case "forbidden":
            return ItemRefused("the mail server does not let this login do that", code="server_refused")
        case "invalidProperties" | "invalidPatch":
            return NotFound(
                "the destination is gone, or takes no mail", code="no_such_mailbox", next="list mailboxes again"
            )
    return ItemRefused("the mail server refused it")


def not_told() -> Ambiguous:
    """The error for a message of which the answer does not say whether it was changed."""
    return Ambiguous("the mail server did not say whether it was done")
