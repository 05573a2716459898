"""Errors are told in words that programs can rely on, and none without what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain import complaint, errors
from mcp_proton.domain.errors import MailError
from mcp_proton.imap import errors as of_imap
from mcp_proton.jmap import errors as of_jmap
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.finding import windows
from mcp_proton.mcp import arguments
from mcp_proton.mcp.http.signing_in import answers as of_signing_in
from mcp_proton.services.acting import batches
from mcp_proton.services.presenting.answers import answer
from mcp_proton.services.presenting.telling import told

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFINING = (errors, complaint, of_imap, of_jmap, refusals, windows, arguments, of_signing_in, batches)


def below(kind: type[MailError]) -> Iterator[type[MailError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from below(one)


ERRORS = sorted(
    {one for one in below(MailError) if one.__module__ in {module.__name__ for module in DEFINING}},
    key=lambda one: f"{one.__module__}.{one.__name__}",
)


def made(kind: type[MailError]) -> MailError:
    """One of the kind with nothing but a message, whatever else its own constructor wants."""
    error = kind.__new__(kind)
    MailError.__init__(error, "it went wrong")
    if isinstance(error, errors.Stale):
        error.successor = None
    return error


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_says_what_to_do_and_whether_it_may_be_repeated(kind: type[MailError]) -> None:
    """A-81: `next` is the recovery; what is safe to repeat is said by the status: `unsure` alone may have been done."""
    shown = answer(told(made(kind)))
    assert {"status", "code", "why", "next"} <= shown.keys()
    assert (shown["status"] == "unsure") is issubclass(kind, errors.Ambiguous)
    if kind.retry:
        assert shown["status"] == "unavailable"
    if shown["status"] == "unsure":
        assert "do not repeat it" in shown["next"]


def test_nothing_is_tried_again_by_itself_but_what_passes_by_itself() -> None:
    """A-81: least of all a login that was refused, for a second try can lock an account out."""
    passing = {kind for kind in ERRORS if kind.retry}
    assert {errors.Unavailable, errors.NotSynced} <= passing
    for kind in (
        errors.AuthFailed,
        errors.Untrusted,
        errors.Ambiguous,
        errors.Refused,
        errors.Invalid,
        errors.Conflict,
    ):
        assert not passing & set(below(kind)), kind


@pytest.mark.parametrize(
    ("theirs", "kind", "status", "code"),
    [
        ("invalid_arguments", errors.Invalid, "refused", "invalid_arguments"),
        ("deployment_disabled", errors.Refused, "refused", "policy_denied"),
        ("insufficient_scope", errors.OutOfScopes, "refused", "insufficient_scope"),
        ("stale_reference", errors.Stale, "stale", "stale_handle"),
        ("conflict", errors.Conflict, "conflict", "conflict"),
        ("not_found", errors.NotFound, "not_found", "not_found"),
        ("unsupported_operation", errors.Unsupported, "unsupported", "unsupported"),
        ("safety_limit", errors.OverLimit, "refused", "over_limit"),
        ("canceled", batches.Stopped, "cancelled", "cancelled"),
        ("service_unavailable", errors.Unavailable, "unavailable", "service_unavailable"),
        ("outcome_unknown", errors.Ambiguous, "unsure", "outcome_unknown"),
        ("operation_failed", of_imap.Rejected, "unavailable", "server_refused"),
    ],
)
def test_the_codes_of_other_servers_have_one_each_here(
    theirs: str, kind: type[MailError], status: str, code: str
) -> None:
    """A-80: `docs/coming-from.md` says which; `deadline_exceeded` has two ends, in `test_limits.py`."""
    shown = answer(told(made(kind)))
    assert (shown["status"], shown["code"]) == (status, code), theirs
