"""Lines: how a flow's messages reach us. As lines to a process of ours, or as requests to the always-on service."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from mcp_proton.admin.programs import Process, own_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.config.serving import Place

PATIENCE = 60.0
"""Seconds an answer may take."""
_MOST = 16 << 20
_KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR")
"""What programs leave of the environment to what they start."""
Message = dict[str, Any]


class NoAnswerError(Exception):
    """Why nothing came that a program could read, and what to do about it."""

    def __init__(self, why: str, following: str) -> None:
        super().__init__(why)
        self.why, self.next = why, following


class Line(Protocol):
    """One way, one session."""

    async def say(self, message: Message, headers: Mapping[str, str]) -> Message | None:
        """Send a message and return its answer; None for one that gets none. Raises `NoAnswerError`."""
        ...

    async def end(self, headers: Mapping[str, str], *, politely: bool) -> str | None:
        """End the session, and return what was wrong with how it ended."""
        ...


class Pipe:
    """A process of ours, started as a program would start it: with next to no environment."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def opened(cls, way: Process) -> Pipe:
        """Start the process."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                own_program(), *way.arguments, stdin=pipe, stdout=pipe, stderr=pipe, limit=_MOST,
                env={**kept, **way.environment},
            )  # fmt: skip
        except OSError as error:
            raise NoAnswerError(f"{own_program()} cannot be started", "install mcp-proton anew") from error
        return cls(process)

    async def say(self, message: Message, headers: Mapping[str, str]) -> Message | None:
        """Send a line and wait for the line that answers it."""
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None
        assert writing is not None
        try:
            async with asyncio.timeout(PATIENCE):
                writing.write(json.dumps(message).encode() + b"\n")
                await writing.drain()
                while "id" in message and (line := await reading.readline()):
                    answer: Message = json.loads(line)
                    if answer.get("id") == message["id"] and "method" not in answer:
                        return answer
        except TimeoutError:
            raise NoAnswerError(f"no answer within {PATIENCE:.0f} seconds", "try `mcp-proton doctor`") from None
        except (OSError, ValueError) as error:
            raise NoAnswerError("what it wrote was no message", "report this") from error
        if "id" not in message:
            return None
        raise NoAnswerError(
            f"the process ended: {await self._last_words()}", "mend that; `mcp-proton doctor` looks at all"
        )

    async def end(self, headers: Mapping[str, str], *, politely: bool) -> str | None:
        """Close its input and wait for its end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE):
                return None if await self._process.wait() == 0 else "it did not end well"
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            return "it does not end when its input does"

    async def _last_words(self) -> str:
        if self._process.stderr is None:
            return "no reason given"
        said = (await self._process.stderr.read(4_096)).decode(errors="replace").strip().splitlines()
        return said[-1][:200] if said else "no reason given"


class Web:
    """A session with the always-on service, in plain HTTP: one connection for each request."""

    def __init__(self, place: Place, token: str) -> None:
        self._place = place
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self._session: dict[str, str] = {}

    async def knock(self, method: str, headers: Mapping[str, str]) -> int:
        """Send a request without a message, and return its status."""
        status, _ = await asyncio.to_thread(self._exchange, method, None, headers)
        return status

    async def say(self, message: Message, headers: Mapping[str, str]) -> Message | None:
        """Post a message and read its answer."""
        status, body = await asyncio.to_thread(self._exchange, "POST", json.dumps(message).encode(), headers)
        if "id" not in message:
            if status >= 300:
                raise _wrong(status)
            return None
        for answer in _messages(body):
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
        raise _wrong(status)

    async def end(self, headers: Mapping[str, str], *, politely: bool) -> str | None:
        """End the session, where the program does and there is one."""
        if not politely or not self._session:
            return None
        status, _ = await asyncio.to_thread(self._exchange, "DELETE", None, headers)
        return None if status < 300 else f"the session was not ended ({status})"

    def _exchange(self, method: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._place.host, self._place.port, timeout=PATIENCE)
        kind = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, "/mcp", body, {**self._headers, **kind, **headers, **self._session})
            answer = connection.getresponse()
            opened = answer.getheader("mcp-session-id")
            if opened and body is not None and answer.status < 300:
                self._session = {"Mcp-Session-Id": opened}
            status, read = answer.status, answer.read(_MOST)
        except ConnectionRefusedError:
            raise NoAnswerError(f"nobody listens at {self._place}", "start it: `mcp-proton serve`") from None
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError("the service does not answer", "look at its log") from error
        finally:
            connection.close()
        if status == http.client.UNAUTHORIZED:
            raise NoAnswerError(
                "the token is not this client's, or over (401)", "make a new one: `mcp-proton clients rotate`"
            )
        if status == http.client.TOO_MANY_REQUESTS:
            raise NoAnswerError("too many sessions are open, or were opened of late (429)", "try again in a minute")
        return status, read


def _messages(body: bytes) -> list[Message]:
    """Return the messages of a body: one, or those of a stream of events."""
    lines = [line[5:] for line in body.splitlines() if line.startswith(b"data:")] or [body]
    found = []
    for line in lines:
        with suppress(ValueError):
            told = json.loads(line)
            found += [told] if isinstance(told, dict) else []
    return found


def _wrong(status: int) -> NoAnswerError:
    return NoAnswerError(f"the service answered {status} and no message", "look at its log")
