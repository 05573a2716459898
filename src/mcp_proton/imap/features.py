"""What an IMAP server can do, in our own words, from what it advertises (P-09, P-65).

Before the first connection all is unverified: nothing was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Standing
from mcp_proton.imap import gmail

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from mcp_proton.imap.login.providers import Provider

WORDS = (
    "search",
    "threads",
    "flags",
    "keywords",
    "move",
    "copy",
    "labels",
    "exact_removal",
    "append_dates",
    "send",
    "files_sent",
    "idle",
    "counts_in_list",
    "guarded_flags",
    "vacation",
    "new_identities",
    "quota",
)
"""threads: by Message-ID and References, which we follow ourselves. exact_removal: named messages are expunged and no
others. append_dates: the date given with an imported message is kept. send: by SMTP, as far as the owner configured it.
files_sent: a copy of what is sent comes into Sent by itself. idle: the server tells what changes as it happens (IDLE,
EventSource). counts_in_list: totals of all mailboxes at once. guarded_flags: flags can be changed on condition that nobody
else changed them meanwhile (RFC 7162). vacation: the server answers mail by itself, as it is set here. new_identities:
addresses to send as are made here. quota: how full it is is told."""
BEYOND_MAIL = ("vacation", "new_identities", "quota")
"""What no IMAP server is asked for."""


def of_standard(capabilities: AbstractSet[str] | None) -> dict[str, Standing]:
    """The standing of every word on a server that advertises these; None where it was never asked."""
    if capabilities is None:
        return dict.fromkeys(WORDS, Standing.UNVERIFIED)
    everywhere = dict.fromkeys(("search", "threads", "flags", "copy", "append_dates", "send"), Standing.AVAILABLE)
    advertised = {
        "move": _standing(bool({"MOVE", "UIDPLUS"} & capabilities)),
        "exact_removal": _standing("UIDPLUS" in capabilities),
        "idle": _standing("IDLE" in capabilities),
        "counts_in_list": _standing("LIST-STATUS" in capabilities),
        "guarded_flags": _standing(bool({"CONDSTORE", "QRESYNC"} & capabilities)),
        "files_sent": _standing(gmail.EXTENSION in capabilities),
    }
    # Whether keywords are kept is said by each mailbox's PERMANENTFLAGS, not by a capability.
    lacking = dict.fromkeys(("labels", *BEYOND_MAIL), Standing.UNAVAILABLE)
    return everywhere | advertised | lacking | {"keywords": Standing.UNVERIFIED}


def of_provider(
    capabilities: AbstractSet[str] | None, provider: Provider | None, name: str | None
) -> Mapping[str, Standing]:
    """The same, where more is known than the server says: of Gmail by its extension, of others by their names."""
    found = of_standard(capabilities)
    if provider is not None and name is not None:
        found |= {f"preset_{name}": Standing.UNVERIFIED}
        if capabilities is not None and found["files_sent"] is not Standing.AVAILABLE:
            found["files_sent"] = provider.files_sent
    if gmail.is_meant(capabilities, provider):
        found["exact_removal"] = Standing.UNAVAILABLE
    return found


def _standing(there: bool) -> Standing:
    return Standing.AVAILABLE if there else Standing.UNAVAILABLE
