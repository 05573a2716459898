"""What can go wrong, told once.

    MailError            status, code, retry, a message for people, what to do next
    ├─ NotFound          the thing named does not exist, or is not yours to see
    ├─ Stale             it existed; this handle or cursor no longer points at it
    ├─ Invalid           the request makes no sense (names the field, never its value)
    ├─ Refused           policy or boundary: NotOnboarded · Paused · OverLimit · OutOfBounds · OutOfScopes
    ├─ Unsupported       this backend cannot, or the effect table has no row
    ├─ Conflict          the world changed since it was planned or approved
    ├─ Unavailable       the mail server cannot be reached: AuthFailed · Untrusted · NotSynced
    ├─ Ambiguous         it may have happened; reconcile, do not repeat
    └─ Defect            a fault of ours

Messages are for people: lower case, no full stop, never a value from mail, a password or a server's own text.
"""

from __future__ import annotations

from typing import ClassVar


class MailError(Exception):
    """The root. `code` is the stable word for programs, `next` the sentence that says what to do now."""

    status: ClassVar[str] = "unavailable"
    code: ClassVar[str] = "fault"
    retry: ClassVar[bool] = False
    advice: ClassVar[str | None] = None

    def __init__(self, message: str, *, next: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next or self.advice
        if code is not None:
            self.code = code  # type: ignore[misc]  # a narrower word of the same class


class NotFound(MailError):
    """The thing named does not exist, or is not the caller's to see: the two look alike on purpose."""

    status = "not_found"
    code = "not_found"


class Stale(MailError):
    """It existed; this handle or cursor no longer points at it. `successor` is set only where identity is proved."""

    status = "stale"
    code = "stale_handle"
    advice = "list or search again and copy the new handle exactly"

    def __init__(
        self, message: str, *, successor: str | None = None, next: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, next=next, code=code)
        self.successor = successor


class Invalid(MailError):
    """The request makes no sense as it stands."""

    status = "refused"
    code = "invalid_arguments"


class Refused(MailError):
    """The owner's rules say no. Not a fault: the answer says which rule and what to do."""

    status = "refused"
    code = "policy_denied"
    advice = "ask the owner to change the rules if this should be possible"


class NotOnboarded(Refused):
    """The owner has not chosen a preset yet (P-22)."""

    code = "not_onboarded"
    advice = "ask the owner to run `mcp-proton setup`"


class Paused(Refused):
    """The owner has paused this client or account."""

    code = "paused"
    advice = "ask the owner to resume it"


class OverLimit(Refused):
    """A limit the owner set is used up."""

    code = "over_limit"


class OutOfBounds(Refused):
    """A boundary that no rule can widen."""

    code = "out_of_bounds"


class OutOfScopes(Refused):
    """The scopes of the client's token do not reach so far."""

    code = "insufficient_scope"
    advice = "sign in again with that scope, if the owner agrees; the owner's rules still hold then"


class Unsupported(MailError):
    """This backend cannot do it, or its effect is not known well enough to do it."""

    status = "unsupported"
    code = "unsupported"


class Conflict(MailError):
    """The world changed since this was planned, read or approved."""

    status = "conflict"
    code = "conflict"
    advice = "look again, then decide anew"


def changed_since() -> Conflict:
    """The error for a message whose flags were changed since it was read, and that keeps them."""
    return Conflict(
        "its flags were changed elsewhere since it was read, and were left as they are",
        code="changed",
        next="read it again",
    )


def not_attempted() -> Unavailable:
    """The error for what comes after a failure in a batch: it was not sent."""
    return Unavailable("not attempted, since the messages before it could not be changed", code="not_attempted")


class Unavailable(MailError):
    """The mail server cannot be reached, or did not answer as mail servers do."""

    status = "unavailable"
    code = "service_unavailable"
    retry = True
    advice = "try again in a minute; `accounts_health` says more"


class AuthFailed(Unavailable):
    """The server refused the login. On Bridge this also means signed out, or still starting."""

    code = "auth_failed"
    retry = False
    advice = "ask the owner to run `mcp-proton doctor`"


class Untrusted(Unavailable):
    """The server showed another certificate than the one trusted at set-up, or none."""

    code = "untrusted_server"
    retry = False
    advice = "ask the owner to run `mcp-proton doctor`; nothing was sent to that server"


class NotSynced(Unavailable):
    """The server's own view is not settled yet."""

    code = "not_synced"
    advice = "it passes by itself; `accounts_health` says when the account is in sync"


class Ambiguous(MailError):
    """It may have happened. Never repeated by itself; reconciled."""

    status = "unsure"
    code = "outcome_unknown"
    advice = "do not repeat it; call operations_status"


class Defect(MailError):
    """A fault of ours: an internal promise was broken."""

    code = "internal"
    advice = "report this with the operation id; nothing was retried"
