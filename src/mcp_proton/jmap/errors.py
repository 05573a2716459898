"""Where the faults of HTTP become ours; no other module of this package catches one of httpx2, ssl or a socket.

    Unavailable
    ├─ ConnectionLost · TimedOut · ProtocolViolation · LimitExceeded     as on IMAP (`imap.errors`)
    ├─ Overloaded        429 or 503: the server asks for patience
    └─ AuthFailed        401 or 403, told apart by what is known of the token (J-90)
    MethodFailed         a method-level error (RFC 8620 §3.6.2); nothing was changed, but by `serverPartialFail`
    RequestRefused       a request-level error (RFC 8620 §3.6.1): nothing of the request was done

A server's own words never enter a message: only the error types that RFCs name are looked at.
"""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2

from mcp_proton.domain.errors import Ambiguous, AuthFailed, MailError, Unavailable
from mcp_proton.imap.errors import ConnectionLost, LimitExceeded, ProtocolViolation, TimedOut, ours

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ConnectionLost", "LimitExceeded", "ProtocolViolation", "TimedOut"]

SKEW = 60.0
"""seconds by which two clocks may differ (J-90)"""
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class Overloaded(Unavailable):
    """The server takes no more for now. `wait` is how many seconds it asks for, where it says so."""

    code = "server_busy"

    def __init__(self, wait: float | None = None) -> None:
        super().__init__("the mail server asks to be left alone for a moment")
        self.wait = wait


class MethodFailed(MailError):
    """A method-level error; `kind` is its type."""

    code = "server_refused"

    def __init__(self, method: str, kind: str) -> None:
        super().__init__(f"the mail server refused `{method}`")
        self.method = method
        self.kind = kind


class RequestRefused(MailError):
    """The request as a whole was refused, before any of it was done."""

    code = "server_refused"


@contextmanager
def border(doing: str, *, changes: bool = False) -> Iterator[None]:
    """Inside, faults of HTTP become ours. With `changes`, one that came after sending is Ambiguous."""
    try:
        yield
    except httpx2.DecodingError as error:
        raise _told(
            ProtocolViolation(f"the mail server's answer could not be unpacked while {doing}"), changes
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        found = _of_http(error, doing)
        raise (found if isinstance(error, _UNSENT) else _told(found, changes)) from error
    except (OSError, EOFError) as error:
        raise _told(ours(error, doing), changes) from error


@contextmanager
def acted() -> Iterator[None]:
    """Inside, the answer to a change is read. INVARIANT: one that makes no sense does not say that nothing was done."""
    try:
        yield
    except ProtocolViolation as error:
        raise unsure(error) from error


def of_status(status: int, *, changes: bool, end: float | None, now: float, wait: float | None = None) -> MailError:
    """The error for an HTTP status that is not the expected one. `end` is when the token that was shown ends."""
    if status == 401:
        return _unauthorised(end, now)
    if status == 403:
        return AuthFailed("the mail server does not let this login in", code="auth_failed")
    if status == 429:
        return Overloaded(wait)
    if status >= 500:
        return _told(Overloaded(wait) if status == 503 else Unavailable("the mail server has a fault"), changes)
    if 300 <= status < 400:
        return ProtocolViolation("the mail server sends us elsewhere, where its password must not go")
    return RequestRefused("the mail server refused the request")


def _unauthorised(end: float | None, now: float) -> AuthFailed:
    """What a 401 means: by the token's own end, where one is told (J-90), it is over, or good and refused all the same."""
    if end is None:
        return AuthFailed("the mail server refused the login")
    if end + SKEW < now:
        return AuthFailed(
            "the token is over", code="auth_expired", next="sign in again, or ask the owner for a new token"
        )
    return AuthFailed(
        "the mail server refused a token that is not over",
        code="upstream_auth_rejected",
        next="a new login does not help; ask the owner to look at the mail server's settings",
    )


def unsure(error: MailError) -> Ambiguous:
    """What an error is that may have come after something was done."""
    found = Ambiguous("the mail server did not say whether it was done")
    found.__cause__ = error
    return found


def _told(error: MailError, changes: bool) -> MailError:
    return unsure(error) if changes else error


def _of_http(error: Exception, doing: str) -> MailError:
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut(f"the mail server did not answer while {doing}")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ssl.SSLError, OSError)):
            return ours(cause, doing)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ProtocolError):
        return ConnectionLost(f"the mail server broke off while {doing}")
    return ConnectionLost(f"the connection broke while {doing}")
