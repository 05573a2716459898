"""How full an account is (RFC 9425 §4.1), where the server tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.powers import Quota
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call
from mcp_proton.jmap.protocol.session import QUOTA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.session import Session

MOST = 20
_OF_MAIL = frozenset({"Mail", "Email"})


async def quotas(client: Client, session: Session) -> Sequence[Quota]:
    """Those that count mail; none where the server has no quotas, or tells nothing usable."""
    if QUOTA not in session.capabilities:
        return ()
    (answer,) = await client.ask(Call("Quota/get", {"ids": None}))
    if isinstance(answer, MethodFailed):
        return ()
    told = values.listed(answer)[:MOST]
    return tuple(
        Quota(
            name=values.text(one.get("name"))[:100],
            unit="octets" if one.get("resourceType") == "octets" else "count",
            used=values.number(one.get("used")),
            limit=None if one.get("hardLimit") is None else values.number(one["hardLimit"]),
        )
        for one in told
        if _OF_MAIL & {values.text(kind) for kind in values.sequence(one.get("types") or ["Mail"])}
    )
