"""What an account's server does beyond keeping mail, or an ordinary answer that it does not."""

from __future__ import annotations

from mcp_proton.domain.context import Context
from mcp_proton.domain.ports import Standing
from mcp_proton.domain.powers import ServerPowers, lacking


def power(account: str, feature: str, what: str, ctx: Context) -> ServerPowers:
    """Return the powers of an account's server. `Unsupported` where it surely has not this one: `what` it does not do."""
    backend = ctx.backend(account)
    if backend.powers is None or backend.features().get(feature) is Standing.UNAVAILABLE:
        raise lacking(what)
    return backend.powers
