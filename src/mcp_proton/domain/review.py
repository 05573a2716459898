"""Review channels: a client through which the owner may answer, once it was seen that a person sits behind it (N-5).

A live check is a set of questions in the client, each with a number, of which the owner's terminal shows the right one: who
approves all, or none, or without looking, does not pass. No answer counts that came faster than a person reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

QUESTIONS = 3
_LEAST_SECONDS = 1.5
_SECONDS_A_WORD = 0.1


@dataclass(frozen=True, slots=True)
class Challenge:
    """The number to approve, and the numbers that are asked about: some right, some wrong."""

    number: str
    questions: tuple[str, ...]

    @classmethod
    def new(cls) -> Challenge:
        """Make one. Neither all questions nor none have the right number."""
        right, wrong = (f"{one:02d}" for one in secrets.SystemRandom().sample(range(10, 100), 2))
        pattern = 1 + secrets.randbelow(2**QUESTIONS - 2)
        return cls(right, tuple(right if pattern >> bit & 1 else wrong for bit in range(QUESTIONS)))

    def passes(self, answers: Sequence[bool]) -> bool:
        """Whether exactly the right ones were approved."""
        return list(answers) == [one == self.number for one in self.questions]


@dataclass(frozen=True, slots=True)
class Channel:
    """What is known of a client: a check that waits for it, and when it last passed one."""

    challenge: Challenge | None = None
    checked: datetime | None = None


class Channels(Protocol):
    """The clients' live checks."""

    async def read(self, client: str) -> Channel:
        """Return what is known of a client."""
        ...

    async def arm(self, client: str) -> Challenge:
        """Let the client's next call be the check. It waits ten minutes; an earlier pass no longer counts."""
        ...

    async def answered(self, client: str, *, passed: bool) -> None:
        """Write down how the check ended; it is over either way."""
        ...

    async def forget(self, client: str) -> None:
        """Nothing is answered through the client any more."""
        ...


def reading_seconds(question: str) -> float:
    """Return how long a person needs at least to read a question, by a fast reader's pace."""
    return max(_LEAST_SECONDS, len(question.split()) * _SECONDS_A_WORD)
