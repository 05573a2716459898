"""Is what Bridge shows to be relied upon? IMAP has no word for it, so what is counted is compared with what was (N-9).

A first sync or a repair shows in counts that grow by more than new mail explains; a lost vault or a resync in another
UIDVALIDITY of All Mail; a damaged one in counts that shrink; trouble between Bridge and Proton in Recovered Messages that
fills. Each of these is unrest. It is over when nothing of the kind was seen for a while, longer where much is still missing.
No sign of unrest proves nothing, since a sync pauses too: so the answer is a reason or None, and never an all-clear.

What was seen last is kept between runs, so that what happened while nobody looked is noticed too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STEP = 32
"""messages between two looks: half of Bridge's step, and more than arrive in a moment"""
APART = 1.0
"""seconds between two looks"""
RECENT = 30.0
"""seconds for which an earlier look still counts; growth over a longer time is measured by this"""
QUIET = 60.0
"""seconds without a sign after which unrest is over"""
LONG = 300.0
"""the same, where less than `MOST` of what there was is there"""
MOST = 0.9
FEW = 64
"""messages fewer than before that are no sign: as many may go in a day"""


@dataclass(frozen=True, slots=True)
class Look:
    """What STATUS said, and when in seconds since 1970. MESSAGES and UIDNEXT need not agree during a sync."""

    at: float
    messages: int
    uidnext: int
    uidvalidity: int = 0
    recovered: int = 0


@dataclass(frozen=True, slots=True)
class Unrest:
    """Why, when a sign of it was last seen, and how much there was before it."""

    why: str
    at: float
    before: int = 0

    def over(self, now: Look) -> bool:
        """Whether nothing was seen for long enough."""
        return now.at - self.at >= (QUIET if now.messages >= MOST * self.before else LONG)


class Sightings(Protocol):
    """Where the last look outlives the process. Losing it costs a sign, so neither method may raise."""

    async def load(self, account: str) -> str | None:
        """What was saved."""
        ...

    async def save(self, account: str, text: str) -> None:
        """Keep it in the place of what was saved before."""
        ...


GROWS = "Bridge is still taking in the mailbox"
REBUILT = "Bridge has built its mailboxes anew"
SHRINKS = "Bridge shows much less mail than before"
RECOVERED = "Recovered Messages fills: Bridge could not hand mail over to Proton"


def sign(earlier: Look, later: Look, removed: int = 0) -> str | None:
    """What is wrong between two looks, if anything. `removed` were taken away by us meanwhile."""
    if earlier.uidvalidity and later.uidvalidity and earlier.uidvalidity != later.uidvalidity:
        return REBUILT
    if earlier.messages - later.messages - removed > max(FEW, (1 - MOST) * earlier.messages):
        return SHRINKS
    if later.recovered > earlier.recovered:
        return RECOVERED
    return GROWS if grew(earlier, later) else None


def grew(earlier: Look, later: Look) -> bool:
    """Whether more came in between than new mail explains."""
    more = max(later.messages - earlier.messages, later.uidnext - earlier.uidnext)
    return more >= STEP * max(1.0, (later.at - earlier.at) / RECENT)


class SyncWatch:
    """Remembers the last look: asking again soon costs one look and no waiting. `look` gives None where it saw nothing."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Look | None]],
        pause: Callable[[float], Awaitable[None]],
        *,
        account: str = "",
        sightings: Sightings | None = None,
    ) -> None:
        self._look, self._pause = look, pause
        self._memory = _Memory(account, sightings)
        self._last: Look | None = None
        self._compared = float("-inf")
        self._removed = 0
        self.unrest: Unrest | None = None
        """as of the last look"""
        self.looked = False
        """whether there was a look in this run"""

    @property
    def why(self) -> str | None:
        """Why what is shown is not to be relied upon, as of the last look."""
        return None if self.unrest is None else self.unrest.why

    def age(self, now: float) -> float:
        """How old the last look is, in seconds."""
        return float("inf") if self._last is None or not self.looked else now - self._last.at

    async def syncing(self) -> bool | None:
        """True while there is unrest; None where it cannot be known."""
        return True if await self.unsettled() else None

    async def unsettled(self) -> str | None:
        """Why what is shown is not to be relied upon. Looks, and twice where nothing was compared lately."""
        await self.glance()
        if self.unrest is None and self._last is not None and self._last.at - self._compared > RECENT:
            await self._pause(APART)
            await self.glance()
        return self.why

    async def glance(self) -> str | None:
        """The same from one look and without waiting. The first one of a run compares with the run before."""
        if not self.looked:
            self._last, self.unrest = await self._memory.recall()
        now = await self._look()
        self.looked = True
        if now is not None:
            self._take(now)
            await self._memory.keep(now, self.unrest)
        return self.why

    def removed(self, count: int) -> None:
        """We took so many messages away ourselves: their absence is no sign."""
        self._removed += count

    def _take(self, now: Look) -> None:
        """Compare with the look before, and remember this one."""
        earlier, self._last = self._last, now
        if earlier is None:
            return
        if APART <= now.at - earlier.at <= RECENT:
            self._compared = now.at
        found = sign(earlier, now, self._removed)
        self._removed = max(0, self._removed - max(0, earlier.messages - now.messages))
        if found is not None:
            self.unrest = _joined(self.unrest, found, earlier, now)
        elif self.unrest is not None and self.unrest.over(now):
            self.unrest = None


def _joined(known: Unrest | None, found: str, earlier: Look, now: Look) -> Unrest:
    """Unrest with one more sign: what it began with is what is told, since a rebuilding grows too."""
    before = earlier.messages if found in {REBUILT, SHRINKS} else 0
    if known is None:
        return Unrest(found, now.at, before)
    return Unrest(known.why if found == GROWS else found, now.at, max(before, known.before))


class _Memory:
    """What was seen last, between runs. Saved when something would be missed otherwise."""

    def __init__(self, account: str, sightings: Sightings | None) -> None:
        self._account, self._sightings = account, sightings
        self._kept: tuple[Look, Unrest | None] | None = None

    async def recall(self) -> tuple[Look | None, Unrest | None]:
        """The last look and unrest of the run before; nothing where it cannot be understood."""
        text = None if self._sightings is None else await self._sightings.load(self._account)
        try:
            told = json.loads(text or "")
            look = Look(float(told["look"]["at"]), *(int(told["look"][name]) for name in _COUNTS))
            unrest = told["unrest"] and Unrest(
                str(told["unrest"]["why"]), float(told["unrest"]["at"]), int(told["unrest"]["before"])
            )
        except (ValueError, LookupError, TypeError):
            return None, None
        if unrest is not None and unrest.why not in _REASONS:
            return look, None
        self._kept = look, unrest
        return look, unrest

    async def keep(self, look: Look, unrest: Unrest | None) -> None:
        """Save it, if it says anything new."""
        if self._sightings is None or (self._kept is not None and not _is_news(*self._kept, look, unrest)):
            return
        self._kept = look, unrest
        told = {"look": asdict(look), "unrest": None if unrest is None else asdict(unrest)}
        await self._sightings.save(self._account, json.dumps(told))


def _is_news(look: Look, unrest: Unrest | None, now: Look, unrest_now: Unrest | None) -> bool:
    kind, kind_now = (look.uidvalidity, look.recovered, unrest), (now.uidvalidity, now.recovered, unrest_now)
    return kind != kind_now or abs(now.messages - look.messages) >= STEP


_COUNTS = ("messages", "uidnext", "uidvalidity", "recovered")
_REASONS = frozenset({GROWS, REBUILT, SHRINKS, RECOVERED})
