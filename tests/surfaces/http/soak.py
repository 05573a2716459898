"""Fifty clients at once for as long as you like: `python -m tests.surfaces.http.soak --minutes 30`, or `make soak`.

Mixed: both eras, lists, searches, reading, filing there and back, mistakes, calls given up in the middle, sessions opened and
ended, streams held. Asserted is what must stay flat: memory by its slope, and open files. Not time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx2

from .crowded import crowd
from .fuzzing import SPARE, size, still_well
from .speaking import MODERN, VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .process import Service

CLIENTS = 50
SLOPE = 20.0
"""MiB an hour that memory may grow by once it is warm; pools, caches and the journal's own pages fill in the beginning."""
WARM = 0.3
"""The part of the time that is given to warming up."""
PAUSE = (0.5, 5.5)
"""Seconds between two things a client does: some sixteen a second in all, about what agents do."""
_LOOKS = 120


@dataclass
class Told:
    """How it went."""

    answers: Counter[str] = field(default_factory=Counter)
    looks: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def warm(self) -> list[tuple[float, int, int]]:
        return self.looks[int(len(self.looks) * WARM) :]

    @property
    def slope(self) -> float:
        """MiB an hour, by the median of the slopes between all pairs (Theil and Sen): one odd look changes nothing."""
        warm = self.warm
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for at, a in enumerate(warm) for b in warm[at + 1 :] if b[0] > a[0]]
        return statistics.median(slopes) * 3_600 / (1 << 20)

    @property
    def grown(self) -> float:
        """MiB between the first and the last warm look."""
        return (self.warm[-1][1] - self.warm[0][1]) / (1 << 20)

    @property
    def files(self) -> tuple[int, int]:
        """The most files that were open in the first and in the second half of the warm time."""
        files = [one[2] for one in self.warm]
        half = len(files) // 2
        return max(files[:half]), max(files[half:])


class Client:
    """One client with a token of its own, which does things at random until it is told to stop."""

    def __init__(self, url: str, token: str, number: int, told: Told) -> None:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self._http = httpx2.AsyncClient(headers=headers, timeout=120, trust_env=False)
        self._url, self._told, self._chance = url, told, random.Random(number)
        self._session: dict[str, str] = {}
        self._handles: list[str] = []

    async def work(self, over: asyncio.Event) -> None:
        """Work until it is over."""
        async with self._http:
            while not over.is_set():
                act = self._chance.choices(
                    [
                        self._list,
                        self._search,
                        self._get,
                        self._file,
                        self._mistake,
                        self._give_up,
                        self._reopen,
                        self._hold,
                    ],
                    [30, 10, 25, 6, 10, 6, 1, 4],
                )[0]
                await act()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._chance.uniform(*PAUSE)):
                        await over.wait()

    async def _list(self) -> None:
        answer = await self._call("messages_list", limit=self._chance.choice([5, 25]), mailbox="inbox")
        self._handles = [one["handle"] for one in answer.get("messages", [])] or self._handles

    async def _search(self) -> None:
        await self._call("messages_search", query=self._chance.choice(["subject:a", "from:anna", "is:unread"]), limit=5)

    async def _get(self) -> None:
        if self._handles:
            await self._call("messages_get", message=self._chance.choice(self._handles))

    async def _file(self) -> None:
        if self._handles:
            flag = self._chance.choice(["add", "remove"])
            await self._call("messages_flag", messages=[self._chance.choice(self._handles)], **{flag: ["starred"]})

    async def _mistake(self) -> None:
        await self._call("messages_get", message="personal.aaaaaa.1-1")
        await self._call("no_such_tool")

    async def _give_up(self) -> None:
        with suppress(TimeoutError, httpx2.HTTPError):
            async with asyncio.timeout(self._chance.uniform(0.0, 0.05)):
                await self._call("messages_search", query="body:hello", limit=20)
        self._told.answers["given up"] += 1

    async def _reopen(self) -> None:
        """End the session, and open another."""
        if self._session:
            await self._http.delete(self._url, headers=self._session)
        said = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        answer = await self._http.post(
            self._url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": said}
        )
        opened = answer.headers.get("mcp-session-id")
        self._told.answers["session opened" if opened else f"session {answer.status_code}"] += 1
        self._session = {"Mcp-Session-Id": opened, "MCP-Protocol-Version": VERSION} if opened else {}

    async def _hold(self) -> None:
        """Listen to the session's own stream for a moment."""
        if not self._session:
            return
        with suppress(TimeoutError, httpx2.HTTPError):
            async with asyncio.timeout(2), self._http.stream("GET", self._url, headers=self._session) as stream:
                self._told.answers[f"stream {stream.status_code}"] += 1
                async for _ in stream.aiter_bytes():
                    pass

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers = dict(self._session)
        if not self._session:
            params["_meta"] = MODERN
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self._http.post(self._url, json=message, headers=headers)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text[:300]
        if answer.status_code == 404:
            self._session = {}
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith(("data: {", "{"))]
        told = json.loads(lines[-1]) if lines else {}
        structured: dict[str, Any] = told.get("result", {}).get("structuredContent") or {}
        self._told.answers[structured.get("status", f"http {answer.status_code}")] += 1
        return structured


async def load(service: Service, tokens: Sequence[str], seconds: float) -> Told:
    """Let the clients work, and look at the service's size meanwhile."""
    told, over = Told(), asyncio.Event()
    working = [asyncio.create_task(Client(service.url, one, at, told).work(over)) for at, one in enumerate(tokens)]
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        await asyncio.sleep(seconds / _LOOKS)
        told.looks.append((passed, *size(service)))
        for one in working:
            if one.done():
                one.result()
    over.set()
    await asyncio.gather(*working)
    return told


def run(folder: Path, seconds: float) -> Told:
    """Soak a service. AssertionError where it leaks, faults or tells of mail."""
    names = [f"client-{number}" for number in range(CLIENTS)]
    with crowd(folder / "home", names, preset="autonomous") as found, found.serve() as service:
        told = asyncio.run(load(service, list(found.tokens.values()), seconds))
        still_well(service, found.tokens[names[0]])
        assert service.end() == 0
    return told


def main(arguments: list[str]) -> int:
    """Run, print the figures, and judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        told = run(Path(folder), given.minutes * 60)
    first = told.warm[0][1] / (1 << 20)
    print(f"{CLIENTS} clients, {given.minutes:g} min: {dict(told.answers.most_common())}")
    print(f"memory {first:.0f} {told.grown:+.0f} MiB, {told.slope:+.1f} MiB an hour; open files at most {told.files}")
    before, after = told.files
    return int(told.slope > SLOPE or after > before + SPARE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
