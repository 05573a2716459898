"""What a JMAP server can do, in our own words (P-09, P-65). Before the first connection all is unverified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Standing
from mcp_proton.imap.features import WORDS
from mcp_proton.jmap.protocol.session import QUOTA, SUBMISSION, VACATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.jmap.protocol.session import Session

_ALWAYS = frozenset({"search", "threads", "counts_in_list"})
_NEVER = frozenset({"guarded_flags"})
"""JMAP counts no changes of one message; only that anything changed in the account can be told"""


def of(
    session: Session | None, *, labels: bool, makes_identities: bool = True, pushes: bool = False
) -> Mapping[str, Standing]:
    """The standing of every word on a server of this session; None where it was never asked.

    `makes_identities` is False once it said that it does not: no capability tells that. `pushes`: it tells what changes.
    """
    if session is None:
        return dict.fromkeys(WORDS, Standing.UNVERIFIED)
    changing = Standing.UNAVAILABLE if session.read_only else Standing.AVAILABLE
    found = dict.fromkeys(WORDS, changing)
    found |= dict.fromkeys(_ALWAYS, Standing.AVAILABLE) | dict.fromkeys(_NEVER, Standing.UNAVAILABLE)
    if SUBMISSION not in session.capabilities:
        found |= dict.fromkeys(("send", "files_sent"), Standing.UNAVAILABLE)
    if VACATION not in session.capabilities:
        found["vacation"] = Standing.UNAVAILABLE
    found["idle"] = Standing.AVAILABLE if pushes else Standing.UNAVAILABLE
    found["quota"] = Standing.AVAILABLE if QUOTA in session.capabilities else Standing.UNAVAILABLE
    found["new_identities"] = found["send"] if makes_identities else Standing.UNAVAILABLE
    return found | ({} if labels else {"labels": Standing.UNAVAILABLE})
