"""Relay: each line of the client's becomes one POST; whatever comes back goes to the client as it is.

A service that is not there is waited for. A session it forgot (it was restarted) is opened again. A stream that broke is
taken up again, and what the client follows is followed again. Where that fails, a message that changes nothing is sent
again; a call that may have acted is answered `unsure`, and never sent twice.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from mcp_proton.mcp.connect import messages
from mcp_proton.mcp.connect.followed import ACKNOWLEDGED, LISTEN, Followed, all_told
from mcp_proton.mcp.connect.messages import Message, fault, unsure
from mcp_proton.mcp.connect.service import BrokenError, Exchange, NotReachedError, Service
from mcp_proton.mcp.connect.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 30.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)
_LAST_ANSWERS = 1.5
_ABSENT = "the mail service does not answer; ask the owner to see that `mcp-proton serve` runs"
_SHUT_OUT = "the mail service does not accept the token; ask the owner to run `mcp-proton clients rotate`"


class _Pending:
    """A request that waits for its answer."""

    def __init__(self, asked: Message) -> None:
        self.asked = asked
        self.exchange: Exchange | None = None
        self.cancelled = self.repeated = False
        self.last: str | None = None


class Relay:
    """Between a client and the service. `emit` writes one line to the client."""

    def __init__(self, service: Service, emit: Callable[[bytes], None], patience: float = PATIENCE) -> None:
        self._service = service
        self._session = Session(service)
        self._emit = emit
        self._patience = patience
        self._pending: dict[str, _Pending] = {}
        self._said: queue.Queue[Message | None] = queue.Queue()
        self._reading: frozenset[str] = frozenset()
        self._listening: str | None = None
        self._followed = Followed()
        self._over = threading.Event()
        self._start(self._speak)

    def take(self, line: bytes) -> None:
        """Relay one line of the client's."""
        if not line.strip():
            return
        message = messages.read(line)
        if message is None:
            self._emit(fault(None, "this is no JSON-RPC message", -32700))
        elif message.is_request:
            pending = self._pending[_key(message.id)] = _Pending(message)
            if message.method == "initialize":
                self._session.shaken.clear()
            self._start(lambda: self._answer(pending))
        else:
            if message.cancels is not None:
                self._cancel(message.cancels)
            self._said.put(message)

    def close(self) -> None:
        """Give what is under way a moment, end the session, and let go."""
        until = time.monotonic() + _LAST_ANSWERS
        while self._awaited() and time.monotonic() < until:
            time.sleep(0.02)
        self._over.set()
        self._said.put(None)
        for pending in list(self._pending.values()):
            if pending.exchange is not None:
                pending.exchange.close()
        self._session.end()

    def _awaited(self) -> bool:
        return any(one.asked.method != LISTEN for one in list(self._pending.values()))

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()

    # --- requests --------------------------------------------------------------------------------------------------

    def _answer(self, pending: _Pending) -> None:
        try:
            told = self._ask(pending)
        except NotReachedError:
            told = fault(pending.asked.id, _ABSENT)
        finally:
            self._pending.pop(_key(pending.asked.id), None)
            if pending.asked.method == "initialize":
                self._session.shaken.set()
        if told is not None and not pending.cancelled:
            self._emit(told)

    def _ask(self, pending: _Pending) -> bytes | None:
        """Ask until there is an answer. None: it went to the client already. Raises `NotReachedError`."""
        asked = pending.asked
        if asked.modern is None and asked.method != "initialize":
            self._session.shaken.wait(self._patience)
        while True:
            session = self._session.id
            try:
                exchange = self._post(pending)
                if exchange.status == 404 and asked.modern is None and asked.method != "initialize":
                    exchange.close()
                    if self._session.renew(session):
                        self._listen()
                        continue  # it was refused unread: to send it again is to send it once
                    return fault(asked.id, _ABSENT)
                if exchange.status >= 500 and pending.repeated and asked.method == LISTEN and not self._over.is_set():
                    exchange.close()  # the service is ending, or not all there yet
                    self._over.wait(_PAUSES[-1])
                    continue
                return self._read(pending, exchange)
            except BrokenError:
                if pending.cancelled:
                    return None
                if self._took_up(pending):
                    return None
                if not self._may_repeat(asked):
                    return unsure(asked)
                pending.repeated = True

    def _post(self, pending: _Pending) -> Exchange:
        asked = pending.asked
        headers = asked.headers() if asked.modern else {} if asked.method == "initialize" else self._session.headers()
        pauses, until = iter(_PAUSES), time.monotonic() + self._patience
        while True:
            exchange = pending.exchange = self._service.exchange()
            try:
                self._service.begin(exchange, "POST", asked.octets, headers)
            except NotReachedError:
                if pending.cancelled or self._over.is_set() or time.monotonic() >= until:
                    raise
                time.sleep(next(pauses, _PAUSES[-1]))
            else:
                return exchange

    def _read(self, pending: _Pending, exchange: Exchange) -> bytes | None:
        asked = pending.asked
        try:
            if exchange.status == 200 and exchange.is_stream:
                if self._stream(pending, exchange):
                    return None
                raise BrokenError
            body = exchange.body()
        finally:
            exchange.close()
        if exchange.status in (401, 403):
            return fault(asked.id, _SHUT_OUT)
        return self._passed(asked, exchange, body)

    def _stream(self, pending: _Pending, exchange: Exchange) -> bool:
        """Pass events on; whether the answer was among them."""
        for event in exchange.events():
            pending.last = event.id or pending.last
            if not event.data:
                continue
            body = _values(event.data)
            answers = "method" not in body and _key(body.get("id")) == _key(pending.asked.id)
            if answers:
                self._learn(pending.asked, exchange, event.data, body)
            if pending.repeated and body.get("method") == ACKNOWLEDGED:
                for told in all_told(body):
                    self._emit(told)
            elif not (answers and pending.cancelled):
                self._emit(event.data)
            if answers:
                return True
        return False

    def _passed(self, asked: Message, exchange: Exchange, body: bytes) -> bytes:
        """Return a response that is not a stream, with the id of its request: a refusal before the server has none."""
        found = _values(body)
        if "result" in found or ("error" in found and found.get("id") is not None):
            self._learn(asked, exchange, body, found)
            return body.replace(b"\n", b" ")
        error = found.get("error")
        told = error.get("message") if isinstance(error, dict) else None
        code = error.get("code") if isinstance(error, dict) else None
        text = told if isinstance(told, str) else f"the mail service answered with HTTP status {exchange.status}"
        return fault(asked.id, text, code if isinstance(code, int) else messages.NO_SERVICE)

    def _took_up(self, pending: _Pending) -> bool:
        """Whether a stream that broke could be read on to its answer (handshake era)."""
        if pending.last is None or pending.asked.modern is not None or self._session.id is None:
            return False
        for pause in _PAUSES:
            exchange = pending.exchange = self._service.exchange()
            try:
                self._service.begin(exchange, "GET", None, {**self._session.headers(), "Last-Event-ID": pending.last})
                return exchange.status == 200 and exchange.is_stream and self._stream(pending, exchange)
            except NotReachedError:
                time.sleep(pause)
            except BrokenError:
                return False
            finally:
                exchange.close()
        return False

    def _may_repeat(self, asked: Message) -> bool:
        """Whether to send a message again changes nothing: all but calls do, and calls of tools that only read."""
        return asked.method != "tools/call" or asked.name in self._reading

    def _learn(self, asked: Message, exchange: Exchange, answer: bytes, body: dict[str, Any]) -> None:
        """Keep what later decisions need: the session, what is followed in it, and which tools only read."""
        if "result" in body:
            self._followed.learn(asked)
        if asked.method == "initialize" and "result" in body:
            self._session.opened(asked, exchange, answer)
        elif asked.method == "tools/list" and isinstance(body.get("result"), dict):
            tools = body["result"].get("tools")
            listed = [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
            self._reading |= {str(one.get("name")) for one in listed if _only_reads(one)}

    # --- what the client says without waiting for an answer ----------------------------------------------------------

    def _speak(self) -> None:
        """Send notifications and answers, in order."""
        while (message := self._said.get()) is not None:
            self._session.shaken.wait(self._patience)
            if message.modern is None and self._session.id is not None:
                self._tell(message)
                if message.method == "notifications/initialized":
                    self._listen()

    def _tell(self, message: Message) -> None:
        for _ in range(2):
            session, exchange = self._session.id, self._service.exchange()
            try:
                self._service.begin(exchange, "POST", message.octets, self._session.headers())
                if exchange.status != 404 or not self._session.renew(session):
                    return
            except (NotReachedError, BrokenError):
                return
            finally:
                exchange.close()

    def _cancel(self, number: Any) -> None:
        pending = self._pending.get(_key(number))
        if pending is None:
            return
        pending.cancelled = True
        if pending.asked.modern is not None and pending.exchange is not None:
            pending.exchange.close()  # in the modern era a closed connection is how a request is given up

    # --- what the service says by itself -----------------------------------------------------------------------------

    def _listen(self) -> None:
        if self._listening != self._session.id:
            self._listening = self._session.id
            self._start(self._hear)
            self._start(self._follow_again)

    def _follow_again(self) -> None:
        for asked, told in self._followed.again():
            exchange = self._service.exchange()
            try:
                self._service.begin(exchange, "POST", asked, self._session.headers())
                exchange.body()
            except (NotReachedError, BrokenError):
                pass
            finally:
                exchange.close()
            self._emit(told)

    def _hear(self) -> None:
        """Pass on what comes on the session's own stream, as long as there is one."""
        session, last = self._session.id, None
        while self._session.id == session and not self._over.is_set():
            exchange = self._service.exchange()
            try:
                headers = {**self._session.headers(), **({"Last-Event-ID": last} if last else {})}
                self._service.begin(exchange, "GET", None, headers)
                if exchange.status != 200:
                    if exchange.status == 404 and self._followed:
                        self._start(lambda: self._renew(session))
                    return
                for event in exchange.events():
                    last = event.id or last
                    if event.data:
                        self._emit(event.data)
            except (NotReachedError, BrokenError):
                pass
            finally:
                exchange.close()
            self._over.wait(_PAUSES[-1])

    def _renew(self, forgotten: str | None) -> None:
        """Open the session again though the client asks nothing: it waits to be told."""
        while not self._over.is_set():
            if self._session.renew(forgotten):
                self._listen()
                return
            forgotten = self._session.id
            self._over.wait(_PAUSES[-1])


def _values(octets: bytes) -> dict[str, Any]:
    try:
        found = json.loads(octets)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _only_reads(tool: dict[str, Any]) -> bool:
    hints = tool.get("annotations")
    return isinstance(hints, dict) and hints.get("readOnlyHint") is True


def _key(number: Any) -> str:
    return json.dumps(number, sort_keys=True)
