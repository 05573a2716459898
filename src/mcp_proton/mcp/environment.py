"""FastMCP's own settings, fixed by us: no file and no variable of the machine changes how mail is served (P-86)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_PREFIX = "FASTMCP_"
_OURS = {
    "FASTMCP_ENV_FILE": os.devnull,  # else a `.env` in the working folder is read
    "FASTMCP_LOG_ENABLED": "false",
    "FASTMCP_TELEMETRY_MODE": "off",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}


def settle(environ: MutableMapping[str, str] = os.environ) -> None:
    """Drop every inherited setting of FastMCP's and put ours in their place."""
    for name in [name for name in environ if name.upper().startswith(_PREFIX)]:
        del environ[name]
    environ.update(_OURS)
