"""Approving: the owner's answer through a client the owner declared, and only as far as a person can be seen behind it (N-5).

A client counts once the owner declared it, and it passed a live check; an answer counts when it took as long as reading takes.
A no, a silence or an answer that was too fast leave the operation waiting in the owner's queue (P-39).
"""

from __future__ import annotations

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.outcome import Record, Status
from mcp_proton.domain.plan import Plan
from mcp_proton.domain.review import Challenge, reading_seconds
from mcp_proton.services.door.world import World


class Approving:
    """The review channels of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._asked: set[str] = set()

    async def may_ask(self, caller: Caller, operation_id: str) -> bool:
        """Whether to ask about an operation in this caller's client: once, so that nobody is worn down by asking again."""
        if operation_id in self._asked or not await self.is_open(caller):
            return False
        self._asked.add(operation_id)
        return True

    async def is_open(self, caller: Caller) -> bool:
        """Whether this caller's client is a review channel."""
        if self._world.channels is None or not self._world.settings.reviews(caller.name):
            return False
        return (await self._world.channels.read(caller.name)).checked is not None

    async def check(self, caller: Caller) -> Challenge | None:
        """Return the live check that waits for this caller's client."""
        if self._world.channels is None or not self._world.settings.reviews(caller.name):
            return None
        return (await self._world.channels.read(caller.name)).challenge

    async def checked(self, caller: Caller, challenge: Challenge, answers: list[bool], seconds: float) -> bool:
        """Take the answers of a live check; return whether it was passed."""
        least = sum(reading_seconds(check_question(number)) for number in challenge.questions)
        passed = challenge.passes(answers) and seconds >= least
        if self._world.channels is not None:
            await self._world.channels.answered(caller.name, passed=passed)
        return passed

    async def takes(self, caller: Caller, operation_id: str, question: str, seconds: float) -> bool:
        """Take a yes that came through this caller's client. False: it does not count, and the operation waits on."""
        record = await self._world.journal.read(operation_id, caller)
        if record.status is not Status.PENDING or not await self.is_open(caller) or seconds < reading_seconds(question):
            return False
        if record.expires is not None and record.expires <= self._world.clock.now():
            return False
        await self._world.journal.advance(record.id, Status.PENDING, Status.APPROVED)
        return True


def question(record: Record, planned: Plan) -> str:
    """Ask about an operation in our own words: clients log questions, so nothing of the mail is in them."""
    happening = planned.effects
    happens = [effect.meaning for effect in sorted(happening)]
    risks = [f"{line.label}: {line.value}" for line in planned.review if line.risk and not line.untrusted]
    lines = [
        f"May `{record.caller}` do this? {record.summary}",
        f"Afterwards it has: {'; '.join(happens)}",
        *risks[:5],
        *([f"To whom and what exactly: `mcp-proton approvals show {record.id}`"] if Effect.SEND in happening else []),
    ]
    return "\n".join(lines)


def check_question(number: str) -> str:
    """Ask one question of a live check."""
    return f"Live check of mcp-proton: approve only if your terminal shows the number {number}. Decline any other."
