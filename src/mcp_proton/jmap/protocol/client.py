"""Method calls, several in one HTTP request, and what became of each (RFC 8620 §3)."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed, Defect, MailError
from mcp_proton.jmap.errors import MethodFailed, ProtocolViolation, unsure
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.session import CORE, MAIL, USED_BY, Session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.jmap.protocol.endpoint import Endpoint
    from mcp_proton.jmap.protocol.session import Limits
    from mcp_proton.jmap.protocol.values import Object
    from mcp_proton.jmap.protocol.web import Web

MIB = 1 << 20
LARGEST_SESSION = 1 * MIB
LARGEST_ANSWER = 32 * MIB
KEPT = 3_600.0
"""seconds a session is good for (J-102)"""


@dataclass(frozen=True, slots=True)
class Call:
    """One method call. The account is added when it is sent."""

    method: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Ref:
    """A value out of the answer to an earlier call of the same request (RFC 8620 §3.7); `call` counts from 0.

    Written as `{"#ids": Ref(0, "Email/query", "/ids").told}`.
    """

    call: int
    method: str
    path: str

    @property
    def told(self) -> Mapping[str, str]:
        """As the wire has it."""
        return {"resultOf": f"c{self.call}", "name": self.method, "path": self.path}


class Client:
    """One account's conversation. The session is looked for when it is first needed, and again when it changed."""

    def __init__(self, endpoint: Endpoint, web: Web) -> None:
        self._endpoint, self._web = endpoint, web
        self._session: Session | None = None
        self._found_at = float("-inf")
        self._account: str | None = None
        self._base = endpoint.session_url
        self._finding = asyncio.Lock()
        self._slots: asyncio.Semaphore | None = None
        self._offers = self._silent = False

    @property
    def known(self) -> Session | None:
        """The session, if it was looked for."""
        return self._session

    async def session(self, *, fresh: bool = False) -> Session:
        """The session. Raises `Unavailable` with its kinds."""
        async with self._finding:
            if self._session is None or fresh or time.monotonic() - self._found_at > KEPT:
                self._base, octets = await self._web.get(self._endpoint.session_url, LARGEST_SESSION)
                found = Session.of(values.parsed(octets), self._base, self._endpoint)
                if (
                    self._slots is None
                    or self._session is None
                    or found.limits.requests != self._session.limits.requests
                ):
                    self._slots = asyncio.Semaphore(found.limits.requests)
                if self._account not in (None, found.account):
                    self._session = None
                    raise another_account()  # INVARIANT: handles of one mailbox never reach into another
                self._session, self._account, self._found_at = found, found.account, time.monotonic()
                self._offers = bool(found.events)
            return self._session

    async def limits(self) -> Limits:
        """What one request may hold."""
        return (await self.session()).limits

    async def ask(self, *calls: Call, changes: bool = False) -> list[Object | MethodFailed]:
        """The answer to each call, in one HTTP request. With `changes`, what may have been done is Ambiguous."""
        session = await self.session()
        body = _written(session, calls)
        async with self._slot():
            octets = await self._web.post(session.api, body, LARGEST_ANSWER, changes=changes)
        try:
            told = values.parsed(octets)
            answers = _answers(told, calls)
        except MailError as error:
            if changes:
                raise unsure(error) from error
            raise
        if told.get("sessionState") != session.state:
            self._forget(session)
        return answers

    async def demand(self, *calls: Call) -> list[Object]:
        """The same for calls that all must be answered. Raises the first `MethodFailed`."""
        return [sure(answer) for answer in await self.ask(*calls)]

    async def upload(self, mail: Octets) -> str:
        """The id of a blob of these octets. Nothing of the account changes by it."""
        session = await self.session()
        url = session.uploading(self._base, self._endpoint)
        told = values.parsed(await self._web.upload(url, mail, LARGEST_SESSION))
        if values.number(told.get("size"), mail.size) != mail.size:
            raise ProtocolViolation("the mail server holds another number of octets than were sent")
        return values.identifier(told.get("blobId"))

    async def blob(self, blob_id: str, start: int = 0, limit: int | None = None) -> AsyncIterator[bytes]:
        """The octets of a blob, piece by piece."""
        session = await self.session()
        async for piece in self._web.stream(session.blob(blob_id, self._base, self._endpoint), start, limit):
            yield piece

    @property
    def pushes(self) -> bool:
        """Whether the server tells what changes, as far as is known: it offers to, and was not seen to have it not."""
        return self._offers and not self._silent

    async def events(self, types: Iterable[str], last_id: str, ping: int, silence: float) -> AsyncGenerator[bytes]:
        """Octets of the stream on which the server tells what changes, "" first once it is open; none where it has none."""
        session = await self.session()
        url = session.listening(types, ping, self._base, self._endpoint)
        if url is None or self._silent:
            return
        opened = False
        async with aclosing(self._web.events(url, last_id, silence)) as octets:
            async for some in octets:
                opened = True
                yield some
        self._silent = not opened

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        if self._slots is None:
            raise Defect("a request before there is a session")
        async with self._slots:
            yield

    def _forget(self, session: Session) -> None:
        """The server says that the session changed: it is looked for before the next request."""
        if self._session is session:
            self._session = None


def sure(answer: Object | MethodFailed) -> Object:
    """What was answered. Raises what was refused."""
    if isinstance(answer, MethodFailed):
        raise answer
    return answer


def another_account() -> AuthFailed:
    """The error for a login that leads to another mailbox than before."""
    return AuthFailed(
        "this login leads to another mailbox than the one before it",
        code="another_account",
        next="nothing was done; ask the owner whose account this is, and to start the service anew",
    )


def _written(session: Session, calls: Sequence[Call]) -> bytes:
    if len(calls) > session.limits.calls:
        raise Defect(f"{len(calls)} calls in one request, where the server takes {session.limits.calls}")
    more = {USED_BY.get(call.method.partition("/")[0], MAIL) for call in calls}
    using = [CORE, MAIL, *sorted(more - {MAIL})]
    written = [[call.method, {"accountId": session.account, **call.arguments}, f"c{n}"] for n, call in enumerate(calls)]
    body = json.dumps({"using": using, "methodCalls": written}, separators=(",", ":")).encode()
    if len(body) > session.limits.request_size:
        raise MethodFailed(calls[0].method, "requestTooLarge")
    return body


def _answers(told: Object, calls: Sequence[Call]) -> list[Object | MethodFailed]:
    """One answer a call: the first under its id that is its own or an error. What was not asked for is passed over."""
    found: dict[str, Object | MethodFailed] = {}
    names = {f"c{number}": call.method for number, call in enumerate(calls)}
    for response in values.sequence(told.get("methodResponses")):
        if not isinstance(response, list) or len(response) != 3:
            raise values.wrong("a response")
        name, arguments, call_id = response
        method = names.get(call_id) if isinstance(call_id, str) else None
        if method is None or call_id in found:
            continue
        if name == "error":
            found[call_id] = MethodFailed(method, values.text(values.mapping(arguments).get("type")))
        elif name == method:
            found[call_id] = values.mapping(arguments)
    if len(found) < len(calls):
        raise ProtocolViolation("the mail server left a question without an answer")
    return [found[call_id] for call_id in names]
