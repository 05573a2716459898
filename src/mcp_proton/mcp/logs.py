"""Logs: to standard error, as text for people or as JSON for programs. Never a word of mail, whoever logs.

Other libraries put what they were given into their messages. Of their records only the place and the kind of exception
are shown; ours are written to be shown.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import PurePath

_OURS = "mcp_proton"
AUDIT = "mcp_proton.audit"
"""The logger of what is written down whatever the level: who called what, and how it ended."""


class PrivateFormatter(logging.Formatter):
    """Formats a record without quoting anybody."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line for foreign records; ours as they are, without the text of an exception."""
        if record.name == AUDIT:
            return f"mcp-proton: {record.getMessage()}"
        kind = _kind(record)
        return f"mcp-proton: {record.levelname.lower()}: {_told(record)}" + (f" ({kind})" if kind else "")


class JsonFormatter(logging.Formatter):
    """The same, as one JSON object a line. What is written down of a call has fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, object] = {"at": at, "level": record.levelname.lower()}
        if record.name == AUDIT:
            told |= getattr(record, "fields", {})
        else:
            told |= {"event": "log", "logger": record.name, "message": _told(record)}
            told |= {"error_class": kind} if (kind := _kind(record)) else {}
        return json.dumps(told, separators=(",", ":"))


def _told(record: logging.LogRecord) -> str:
    if record.name == _OURS or record.name.startswith(f"{_OURS}."):
        return record.getMessage()
    return f"in {record.name} ({PurePath(record.pathname).name}:{record.lineno})"


def _kind(record: logging.LogRecord) -> str | None:
    return record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None


def to_stderr(level: int = logging.WARNING, form: str = "text") -> None:
    """Send every logger's records there and nowhere else; `form` is text or json."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else PrivateFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    logging.captureWarnings(True)
