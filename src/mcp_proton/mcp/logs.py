"""Logs: warnings and worse to standard error, for people. Never a word of mail, whoever logs.

Other libraries put what they were given into their messages. Of their records only the place and the kind of exception
are shown; ours are written to be shown.
"""

from __future__ import annotations

import logging
import sys
from pathlib import PurePath

_OURS = "mcp_proton"


class PrivateFormatter(logging.Formatter):
    """Formats a record without quoting anybody."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line for foreign records; ours as they are, without the text of an exception."""
        level = record.levelname.lower()
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        if record.name == _OURS or record.name.startswith(f"{_OURS}."):
            told = record.getMessage()
        else:
            told = f"in {record.name} ({PurePath(record.pathname).name}:{record.lineno})"
        return f"mcp-proton: {level}: {told}" + (f" ({kind})" if kind else "")


def to_stderr(level: int = logging.WARNING) -> None:
    """Send every logger's records there and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrivateFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
