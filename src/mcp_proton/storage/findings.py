"""FileFindings: what trials showed, one small file an account in the state folder, read when it changed. The Findings port.

A file that cannot be understood proves nothing, not even of the version that was recorded: in doubt the owner is asked.
"""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.findings import Finding, Trace
from mcp_proton.storage.files import read_owned, stamp, sync_folder, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_proton.storage.files import Stamp

_Kept = dict[str, dict[str, Finding]]


class FileFindings:
    """Findings in `folder`. The same object is returned while a file does not change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[Stamp | None, _Kept | None]] = {}
        self._turn = asyncio.Lock()

    def of(self, account: str, version: str) -> Mapping[str, Finding] | None:
        """Return the latest findings; see the port."""
        kept = self._current(account)
        return None if kept is None else kept.get(version, {})

    async def record(self, account: str, version: str, finding: Finding) -> None:
        """Write down a finding; see the port."""
        async with self._turn:
            kept = self._current(account) or {}
            changed = {**kept, version: {**kept.get(version, {}), finding.verb: finding}}
            await asyncio.to_thread(write_private, self._file(account), _encoded(changed))

    def trace(self, account: str) -> Trace | None:
        """Return what a trial left behind. What cannot be read leads to nothing that could be taken away."""
        try:
            told = json.loads(read_owned(self._traces(account))[0])
            return Trace(str(told["token"]), str(told["version"]), told["mark"] and str(told["mark"]))
        except (OSError, ValueError, LookupError, TypeError, Misconfigured):
            return None

    async def keep(self, account: str, trace: Trace) -> None:
        """Write down what is about to be made."""
        text = json.dumps({"token": trace.token, "version": trace.version, "mark": trace.mark})
        await asyncio.to_thread(write_private, self._traces(account), text.encode())

    async def forget(self, account: str) -> None:
        """Nothing is left of it."""
        path = self._traces(account)
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_folder(path.parent)

    def _current(self, account: str) -> _Kept | None:
        path = self._file(account)
        found = stamp(path)
        if account not in self._seen or self._seen[account][0] != found:
            self._seen[account] = found, _read(path)
        return self._seen[account][1]

    def _file(self, account: str) -> Path:
        return self._folder / f"{account}.json"

    def _traces(self, account: str) -> Path:
        return self._folder / f"{account}.trace"


def _read(path: Path) -> _Kept | None:
    try:
        return _decoded(json.loads(read_owned(path)[0]))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, Misconfigured):
        return None


def _decoded(told: Any) -> _Kept:
    return {
        str(version): {
            str(verb): Finding(
                str(verb), bool(one["proved"]), datetime.fromisoformat(one["at"]), str(one.get("why", ""))
            )
            for verb, one in verbs.items()
        }
        for version, verbs in told.items()
    }


def _encoded(kept: _Kept) -> bytes:
    told = {
        version: {verb: {"proved": one.proved, "at": one.at.isoformat(), "why": one.why} for verb, one in verbs.items()}
        for version, verbs in kept.items()
    }
    return json.dumps(told, indent=1).encode()
