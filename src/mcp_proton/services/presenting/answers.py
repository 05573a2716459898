"""One envelope for every tool, resource and `--json` command: an outcome as JSON, without anything empty.

Fields that hold strangers' text are named once, under `untrusted`; they were neutralised when the result was made.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import Outcome
from mcp_proton.services.fields import untrusted_names


def answer(outcome: Outcome[Result]) -> dict[str, Any]:
    """Return the answer as JSON values: `status` first, then the result's fields, then what to do next."""
    told: dict[str, Any] = {"status": outcome.status}
    if outcome.result is not None:
        names: set[str] = set()
        told |= _full(
            outcome.result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True), names
        )
        untrusted = untrusted_names(type(outcome.result)) & names
        if untrusted:
            told["untrusted"] = sorted(untrusted)
    for name in ("operation_id", "code", "summary", "why", "next"):
        value = getattr(outcome, name)
        if value:
            told[name] = value
    if outcome.expires_at is not None:
        told["expires_at"] = instant(outcome.expires_at)
    if outcome.state is not None and "state" not in told:
        told["state"] = outcome.state.value
    return told


def instant(moment: datetime) -> str:
    """Format as RFC 3339 in UTC, to the second."""
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return in_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def _full(value: Any, names: set[str]) -> Any:
    """Drop what says nothing: None, empty strings and empty containers. What is left is noted by its `names`."""
    if isinstance(value, dict):
        kept = {}
        for key, inner in value.items():
            if isinstance(inner, (dict, list)):
                inner = _full(inner, names)  # noqa: PLW2901 - the same thing, without what says nothing
            if inner or isinstance(inner, (bool, int, float)):
                kept[key] = inner
        names.update(kept)
        return kept
    if isinstance(value, list):
        return [_full(inner, names) if isinstance(inner, (dict, list)) else inner for inner in value]
    return value
