"""The few words that reasons and breaches share."""

from __future__ import annotations

from mcp_proton.domain.effects import Effect

_DOING = {
    Effect.LIST: "listing",
    Effect.READ: "reading",
    Effect.ORGANIZE: "organizing",
    Effect.DRAFT: "drafting",
    Effect.SEND: "sending",
    Effect.DESTROY: "destroying mail for good",
    Effect.DELETE_FOLDER: "deleting a folder",
    Effect.DELETE_LABEL: "deleting a label",
    Effect.INGEST: "taking in a local file",
    Effect.FETCH: "fetching a file from the internet",
    Effect.EXPORT: "exporting",
    Effect.IMPORT: "importing",
    Effect.AUTOMATE: "arranging something for later",
    Effect.ADMINISTER: "changing the rules",
}

PERIODS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""The spans a rate may be counted over, in seconds."""


def doing(effect: Effect) -> str:
    """Return the effect as something one does."""
    return _DOING.get(effect, f"`{effect}`")


def period(seconds: int) -> str:
    """Return the name of a span."""
    return next((name for name, length in PERIODS.items() if length == seconds), f"{seconds} seconds")
