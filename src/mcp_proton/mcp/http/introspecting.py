"""Introspecting: what a client may learn of the token it shows, and of no other (J-91).

Nothing in the request but that token says whose it is: there is no field to name another in, as RFC 7662 has.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from mcp_proton.mcp.http.answers import later
from mcp_proton.mcp.http.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from mcp_proton.mcp.http.bearers import Bearer

TOKENS = 1024
PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Use:
    """A call that a token came with: when (seconds since 1970), and from where, as `addresses.py` tells it."""

    at: float
    ip: str


class Introspection:
    """Answers about tokens, at most 60 times a minute for each client and for each subject.

    When and from where each of 1,024 tokens last came with a call is kept by the beginning of its hash, in memory alone; of
    more tokens the longest unused are forgotten.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._uses: OrderedDict[str, Use] = OrderedDict()
        self._rate = Rate(PER_MINUTE, 60.0)

    def used(self, who: Bearer, ip: str) -> None:
        """Note that a token came with a call."""
        self._uses[who.hash] = Use(self._now(), ip)
        self._uses.move_to_end(who.hash)
        while len(self._uses) > TOKENS:
            self._uses.popitem(last=False)

    def answer(self, who: Bearer) -> Response:
        """Tell a client of its token; or when to ask again. Asking is no use of it."""
        wait = self._rate.take(f"client {who.client}", f"subject {who.subject}")
        if wait:
            return later(429, "too many questions about tokens", wait)
        return JSONResponse(self._told(who), headers={"cache-control": "no-store"})

    def _told(self, who: Bearer) -> dict[str, Any]:
        """Return what is known; what is not, or what the token does not say, is left out."""
        said, use = who.said, self._uses.get(who.hash)
        told = {
            "client": who.client,
            "subject": said.subject if said else who.sign_in,
            "email": said.email if said else None,
            "name": said.name if said else None,
            "exp": None if who.expires is None else int(who.expires),
            "token_hash": who.hash,
            "last_used": None if use is None else {"at_unix": int(use.at), "ip": use.ip},
        }
        return {name: value for name, value in told.items() if value is not None}
