"""A language model on loopback that follows a script: the OpenAI chat API, as much as an agent asks of it, and what
`dialects` puts into it.

Which step is played depends on the request alone (how many replies with tool calls this turn already holds), so
retries and side requests never shift the script. Requests without tools (titles, summaries) get "ok".
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.dialects import DIALECTS
from tests.surfaces.hermes.script import Call, Exchange, Say, Step

Message = Mapping[str, Any]
MODEL = "stub-model"
CONTEXT = 131_072


class StubModel:
    """The script, and what the agent has sent so far."""

    def __init__(self, script: Sequence[Step]) -> None:
        self._script = script
        self._guard = threading.Lock()
        self._turn: list[Message] = []
        self.tools: dict[str, Mapping[str, Any]] = {}
        self.url = ""

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The assistant's message for one request."""
        tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or []}
        if not tools:
            return {"role": "assistant", "content": "ok"}
        turn = this_turn(request["messages"])
        with self._guard:
            self.tools.update(tools)
            if len(turn) > len(self._turn):
                self._turn = turn
        return self._play(turn, list(tools))

    def _play(self, turn: Sequence[Message], names: Sequence[str]) -> dict[str, Any]:
        results = [text_of(message) for message in turn if message["role"] == "tool"]
        position = sum(1 for message in turn if message.get("tool_calls"))
        step = self._script[position] if position < len(self._script) else Say("the script ends here")
        if isinstance(step, Say):
            return {"role": "assistant", "content": step.filled(results)}
        name = advertised(step, names)
        if name is None:
            return {"role": "assistant", "content": f"no tool {step.tool} among {sorted(names)}"}
        function = {"name": name, "arguments": json.dumps(step.filled(results))}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{position}", "type": "function", "function": function}],
        }

    def exchanges(self) -> tuple[Exchange, ...]:
        """Every tool call of the turn that has its result."""
        with self._guard:
            turn = list(self._turn)
        results = {message["tool_call_id"]: text_of(message) for message in turn if message["role"] == "tool"}
        calls = [call for message in turn for call in message.get("tool_calls") or []]
        return tuple(
            Exchange(call["function"]["name"], json.loads(call["function"]["arguments"]), results[call["id"]])
            for call in calls
            if call["id"] in results
        )


def this_turn(messages: Sequence[Message]) -> list[Message]:
    """What came after the last message of the user."""
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    return list(messages[last + 1 :])


def text_of(message: Message) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def advertised(call: Call, names: Sequence[str]) -> str | None:
    """Agents put the server's name before a tool's, each with a mark of its own between them."""
    return next((name for name in names if re.fullmatch(rf"(.*(_|::|\.))?{re.escape(call.tool)}", name)), None)


@contextmanager
def serving(script: Sequence[Step]) -> Iterator[StubModel]:
    """The model behind a free port; `url` is the base that agents are configured with."""
    model = StubModel(script)

    class Door(_Door):
        behind = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Door(BaseHTTPRequestHandler):
    behind: StubModel

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the transcript is the log."""

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "stub", "context_length": CONTEXT}
            self._send(200, "application/json", json.dumps({"object": "list", "data": [model]}))
        else:
            self._send(404, "application/json", '{"error": {"message": "not found"}}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        dialect = next((one for one in DIALECTS if one.hears(path)), None)
        if dialect is not None:
            message = self.behind.reply(dialect.chat(body))
            if body.get("stream") or "stream" in path:
                self._send(200, "text/event-stream", "".join(map(event, dialect.events(body, message))))
            else:
                self._send(200, "application/json", json.dumps(dialect.whole(body, message)))
        elif path.endswith("/chat/completions"):
            message = self.behind.reply(body)
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            if body.get("stream"):
                self._send(200, "text/event-stream", "".join(stream(message, reason)))
            else:
                choice = {"index": 0, "message": message, "finish_reason": reason}
                self._send(200, "application/json", json.dumps(completion("chat.completion", [choice])))
        else:
            self._send(404, "application/json", '{"error": {"message": "not found"}}')

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def event(told: tuple[str | None, Mapping[str, Any]]) -> str:
    name, data = told
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


def completion(kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "stub", "object": kind, "created": 0, "model": MODEL, "choices": choices, "usage": usage}


def stream(message: Mapping[str, Any], reason: str) -> Iterator[str]:
    """The same message as server-sent events: one with everything, one that ends it."""
    delta = dict(message)
    if calls := message.get("tool_calls"):
        delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(calls)]
    for choice in (
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ):
        yield f"data: {json.dumps(completion('chat.completion.chunk', [choice]))}\n\n"
    yield "data: [DONE]\n\n"
