"""How things that did not simply happen are told: errors, records and refusals as ordinary outcomes."""

from __future__ import annotations

from mcp_proton.domain.errors import MailError, Stale
from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import Outcome, Record, Status

_STANDING: dict[Status, tuple[str, str | None, str, str | None]] = {
    # status, code, why, next
    Status.PENDING: (
        "approval_pending",
        None,
        "the owner's rules ask for approval",
        "ask the owner to run `mcp-proton approvals list`, then call operations_resume with this operation_id",
    ),
    Status.APPROVED: ("approval_pending", "approved", "the owner approved it", "call operations_resume now"),
    Status.DENIED: ("refused", "approval_denied", "the owner said no", "do not ask for the same again"),
    Status.EXPIRED: ("refused", "approval_expired", "the approval ran out or no longer fits", "ask for it again"),
    Status.EXECUTING: ("unsure", "in_progress", "it is being done, or was interrupted", "look again in a minute"),
    Status.SUCCEEDED: ("ok", "already_done", "it was done", None),
    Status.PARTIALLY_SUCCEEDED: (
        "partly_done",
        "already_done",
        "a part of it was done",
        "operations_status shows which",
    ),
    Status.FAILED: ("not_done", None, "it was tried and not done", "look at `code`; ask anew if it still makes sense"),
    Status.CANCELLED: ("cancelled", "cancelled", "it was cancelled", None),
    Status.DELIVERY_UNKNOWN: ("unsure", "delivery_unknown", "it may have happened", "do not repeat it"),
}


def standing(record: Record) -> Outcome[Result]:
    """Tell where an operation stands, without doing anything."""
    status, code, why, following = _STANDING[record.status]
    return Outcome(
        status=status,
        operation_id=record.id,
        code=record.code or code,
        why=why,
        next=following,
        summary=record.summary,
        expires_at=record.expires if status == "approval_pending" else None,
        state=record.status,
    )


def told(error: MailError) -> Outcome[Result]:
    """Tell an error as an ordinary outcome."""
    following = error.next
    if isinstance(error, Stale):
        following = f"use {error.successor}" if error.successor else following
    return Outcome(status=error.status, code=error.code, why=error.message, next=following)
