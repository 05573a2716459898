"""What the owner switched at run time, as every process sees it: a small file, written by `switches`, read on change.

Reading it needs no database, so a pause or a revocation holds at once and costs one look at a file per call (P-38).
A file that cannot be understood pauses everything: in doubt the answer is no.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.limits import Granted, Switches
from mcp_proton.storage.files import read_owned, stamp

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from mcp_proton.storage.files import Stamp

_CLOSED = Switches(all_paused=True)


class SwitchFile:
    """The published switches. The same object is returned while the file does not change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Stamp | None = None
        self._current = Switches()

    async def current(self) -> Switches:
        """Return what is switched now. Never raises."""
        found = stamp(self._path)
        if found != self._seen:
            self._current = self._read()
            self._seen = found
        return self._current

    def _read(self) -> Switches:
        try:
            return decoded(read_owned(self._path)[0])
        except FileNotFoundError:
            return Switches()
        except (OSError, ValueError, LookupError, TypeError, Misconfigured):
            return _CLOSED


def encoded(switches: Switches) -> str:
    """Return the file's text."""
    return json.dumps(
        {
            "paused_clients": sorted(switches.paused_clients),
            "revoked_clients": sorted(switches.revoked_clients),
            "paused_accounts": sorted(switches.paused_accounts),
            "all_paused": switches.all_paused,
            "frozen": sorted([account, effect.value] for account, effect in switches.frozen),
            "granted": [_grant(one) for one in switches.granted],
        },
        indent=1,
    )


def decoded(text: str) -> Switches:
    """Return what the file's text says. ValueError, LookupError or TypeError when it says nothing sensible."""
    found = json.loads(text)
    return Switches(
        paused_clients=frozenset(map(str, found["paused_clients"])),
        revoked_clients=frozenset(map(str, found["revoked_clients"])),
        paused_accounts=frozenset(map(str, found["paused_accounts"])),
        all_paused=bool(found["all_paused"]),
        frozen=frozenset((str(account), Effect(effect)) for account, effect in found.get("frozen", ())),
        granted=tuple(
            Granted(
                one["id"],
                frozenset(map(Effect, one["effects"])),
                one["verdict"],
                datetime.fromisoformat(one["until"]),
                one["client"],
                one["account"],
                one["place"],
            )
            for one in found["granted"]
        ),
    )


def _grant(one: Granted) -> dict[str, Any]:
    return {
        "id": one.id,
        "effects": sorted(one.effects),
        "verdict": one.verdict,
        "until": one.until.isoformat(),
        "client": one.client,
        "account": one.account,
        "place": one.place,
    }
