"""Identity: whose calls a transport carries. On stdio that is the label in the owner's client list, over HTTP the client
whose token was shown.

What a client says of itself (`clientInfo`, arguments, session ids) counts for nothing here (P-41).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

VARIABLE = "MCP_PROTON_CLIENT"
UNNAMED = "unnamed"
"""Stands for a client that nobody named. It is in no list, so every call is refused with the reason."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def label(argument: str | None, environ: Mapping[str, str], known: Collection[str] = ()) -> str:
    """Return the client's label: from the command line, else the environment, else the only one the owner has.

    Raises `Invalid` for what cannot be a label.
    """
    named = argument or environ.get(VARIABLE) or (next(iter(known)) if len(known) == 1 else UNNAMED)
    if not _LABEL.fullmatch(named):
        raise Invalid("this cannot be the name of a client", next="use the name the owner gave it in `[clients]`")
    return named


def agent(name: str, accounts: frozenset[str] | None = None) -> Caller:
    """Return the caller behind a transport: an agent, never the owner, whatever it is called."""
    return Caller(name=name, audience=Audience.AGENT, surface=Surface.TOOL, accounts=accounts)
