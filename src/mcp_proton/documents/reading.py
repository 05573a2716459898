"""Documents read in a child process: it gets an open file, no environment, and ends with an answer or is ended.

What it answers is judged like a stranger's word, since what it read may have taken it over.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcp_proton.domain.documents import Excerpt, Passage, Span

from .confinement import Limits
from .kinds import expected
from .refusals import Reason, Unreadable, missing, told

_NEEDED = ("defusedxml", "openpyxl", "pypdfium2")
_CHILD = "mcp_proton.documents.child"
_AT_ONCE = 2
_ENDED_BY = {-signal.SIGXCPU: Reason.TIME, -signal.SIGKILL: Reason.MEMORY}
"""What a signal that nobody here sent means: the limit of processor time, or a kernel that is short of memory."""


class ChildDocuments:
    """Reads documents, at most two at a time, each in a process of its own."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def reads(self, media_type: str, filename: str) -> bool:
        """Say whether a file that calls itself so may be a document with a reader."""
        return expected(media_type, filename)

    async def excerpt(self, descriptor: int, span: Span, letters: int) -> Excerpt:
        """Return about `letters` of an open, seekable file's text. `Unsupported` says what is in the way, by its code."""
        if any(importlib.util.find_spec(name) is None for name in _NEEDED):
            raise missing()
        try:
            async with self._turns:
                answer = await self._asked(descriptor, span, letters)
            return judged(answer, span, letters)
        except Unreadable as error:
            raise told(error.reason) from None

    async def _asked(self, descriptor: int, span: Span, letters: int) -> bytes:
        os.lseek(descriptor, 0, os.SEEK_SET)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", _CHILD, self._question(span, letters),
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

    def _question(self, span: Span, letters: int) -> str:
        return json.dumps(
            {
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

    unit: Annotated[str, Field(pattern="^(page|slide|sheet)$")] = "page"
    total: _Number = 0
    passages: list[tuple[_Number, Annotated[str, Field(max_length=200)], str]] = []
    following: tuple[_Number, _Number] | None = None
    notices: list[Annotated[str, Field(pattern="^[a-z_]{1,40}$")]] = []
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
    return Excerpt(said.unit, said.total, passages, following, frozenset(said.notices))
