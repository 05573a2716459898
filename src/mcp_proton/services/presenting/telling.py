"""How things that did not simply happen are told: errors, records and refusals as ordinary outcomes."""

from __future__ import annotations

from mcp_proton.domain.errors import Ambiguous, MailError, Stale
from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import Ending, Outcome, Record, Status

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
        "operations_status with `items` shows which",
    ),
    Status.FAILED: ("not_done", None, "it was tried and not done", "look at `code`; ask anew if it still makes sense"),
    Status.CANCELLED: ("cancelled", "cancelled", "it was cancelled", None),
    Status.DELIVERY_UNKNOWN: (
        "unsure",
        "delivery_unknown",
        "it may have been sent; nobody knows yet",
        "do not send it again; operations_status looks what became of it",
    ),
}


def standing(record: Record) -> Outcome[Result]:
    """Tell where an operation stands, without doing anything."""
    if record.status is Status.EXECUTING and record.background:
        return underway(record)
    status, code, why, following = _STANDING[record.status]
    if record.status is Status.PARTIALLY_SUCCEEDED and record.counts.get(Ending.UNCERTAIN):
        status, code, why, following = "unsure", Ambiguous.code, "how some ended is not known yet", "do not repeat it"
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


_ENDS: dict[Status, tuple[str, str | None]] = {
    # status, next
    Status.SUCCEEDED: ("ok", None),
    Status.PARTIALLY_SUCCEEDED: ("partly_done", None),
    Status.FAILED: ("not_done", None),
    Status.CANCELLED: ("cancelled", None),
    Status.DELIVERY_UNKNOWN: ("unsure", "do not send it again; operations_status looks what became of it"),
}


def ended(result: Result, record: Record) -> Outcome[Result]:
    """Tell what was done, in whole or in part."""
    status, following = _ENDS[result.ended]
    code = result.code_of_end
    if code == Stale.code and status == "not_done":
        status, following = Stale.status, Stale.advice
    if code == Ambiguous.code:
        status, following = Ambiguous.status, "do not repeat it; operations_status looks what became of it"
    return Outcome(status=status, result=result, operation_id=record.id, code=code, next=following)


def underway(record: Record) -> Outcome[Result]:
    """Tell that it goes on in the background."""
    return Outcome(
        status="ok",
        operation_id=record.id,
        code="in_progress",
        why="it is asked to stop" if record.stopping else "it goes on in the background",
        next="operations_status tells how far it is, operations_cancel stops it between messages",
        summary=record.summary,
        state=Status.EXECUTING,
    )


_NEXT = {
    "refused": "correct what `why` names, then ask again",
    "not_found": "list or search, and copy what is named there",
    "unsupported": "do without it here; `capabilities_report` says what this account can do",
    "unavailable": "do not repeat it unchanged; `accounts_health` says how the account is",
    "cancelled": "ask anew if it is still wanted",
}
"""What to do about an error that has no advice of its own: no answer leaves that open (A-81)."""


def told(error: MailError) -> Outcome[Result]:
    """Tell an error as an ordinary outcome."""
    following = error.next or _NEXT.get(error.status)
    if isinstance(error, Stale):
        following = f"use {error.successor}" if error.successor else following
    return Outcome(status=error.status, code=error.code, why=error.message, next=following)
