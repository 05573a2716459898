"""Files read in child processes: each gets an open file, no environment, and ends with an answer or is ended.

What it answers is judged like a stranger's word, since what it read may have taken it over.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcp_proton.documents.confinement import Limits
from mcp_proton.documents.kinds import claim
from mcp_proton.documents.refusals import Reason, Unreadable, told
from mcp_proton.domain.documents import Claim, Excerpt, Passage, Span

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Attachment

_CHILD = "mcp_proton.documents.child"
_AT_ONCE = 4
_ENDED_BY = {-signal.SIGXCPU: Reason.TIME, -signal.SIGKILL: Reason.MEMORY}
"""What a signal that nobody here sent means: the limit of processor time, or a kernel that is short of memory."""


class ChildDocuments:
    """Reads files, a few at a time, each in a process of its own: what one does to it, no other mail is there to see."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def claim(self, attachment: Attachment) -> Claim | None:
        """Return what an attachment says it is; None where that has no reader."""
        return claim(attachment)

    async def excerpt(self, descriptor: int, claim: Claim, span: Span, letters: int) -> Excerpt:
        """Return about `letters` of an open, seekable file's text. `Unsupported` says what is in the way, by its code."""
        question = self._question(claim, span, letters)
        try:
            async with self._turns:
                answer = await self._asked(descriptor, question)
            return judged(answer, span, letters)
        except Unreadable as error:
            raise told(error.reason, self._limits) from None

    async def _asked(self, descriptor: int, question: str) -> bytes:
        os.lseek(descriptor, 0, os.SEEK_SET)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", _CHILD, question,
            stdin=descriptor, stdout=PIPE, stderr=DEVNULL, env=_environment(), cwd="/", start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._limits.seconds):
                answer = await self._answer(child)
                ended = await child.wait()
        except TimeoutError:
            raise Unreadable(Reason.TIME) from None
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
        if ended:
            raise Unreadable(_ENDED_BY.get(ended, Reason.READER_DIED))
        return answer

    def _question(self, claim: Claim, span: Span, letters: int) -> str:
        """Return what a child is asked. Everybody on the machine may see it: nothing of mail but its charset is in it."""
        return json.dumps(
            {
                "claim": asdict(claim),
                "first": span.first,
                "last": span.last,
                "offset": span.offset,
                "letters": letters,
                "memory": self._limits.memory,
                "processor": self._limits.processor,
                "parent": os.getpid(),
            }
        )

    async def _answer(self, child: Process) -> bytes:
        held = bytearray()
        assert child.stdout is not None
        while chunk := await child.stdout.read(64 << 10):
            held += chunk
            if len(held) > self._limits.output:
                raise Unreadable(Reason.OUTPUT)
        return bytes(held)


def _environment() -> dict[str, str]:
    """Return what a child needs to start, and nothing that anybody put into ours: it may hold secrets."""
    kept = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
    return {"LANG": "C.UTF-8", **{name: os.environ[name] for name in kept if name in os.environ}}


_Number = Annotated[int, Field(ge=0, le=1 << 31)]


class _Answer(BaseModel):
    """What a child may answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    unit: Annotated[str, Field(pattern="^(page|slide|sheet|text)$")] = "page"
    total: _Number = 0
    passages: list[tuple[_Number, Annotated[str, Field(max_length=200)], str]] = []
    following: tuple[_Number, _Number] | None = None
    notices: list[Annotated[str, Field(pattern="^[a-z_]{1,40}$")]] = []
    left: _Number = 0
    refused: Reason | None = Field(default=None, strict=False)


def judged(answer: bytes, span: Span, letters: int) -> Excerpt:
    """Return what a child answered, if it is an answer. `Unreadable` for anything else."""
    try:
        said = _Answer.model_validate_json(answer)
    except ValidationError:
        raise Unreadable(Reason.READER_DIED) from None
    if said.refused:
        raise Unreadable(said.refused)
    if sum(len(text) for *_, text in said.passages) > letters:
        raise Unreadable(Reason.OUTPUT)
    following = said.following and Span(said.following[0], span.last, said.following[1])
    passages = tuple(Passage(*one) for one in said.passages)
    return Excerpt(said.unit, said.total, passages, following, frozenset(said.notices), said.left)
