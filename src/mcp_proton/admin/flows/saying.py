"""Saying a flow: each step as the program takes it, and what it would make of the answer."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from mcp_proton.admin.check import Check, State, fix, ok
from mcp_proton.admin.flows.lines import NoAnswerError, Web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.admin.flows.flow import Flow
    from mcp_proton.admin.flows.lines import Line, Message

_NOWHERE = "nobody.aaaaaa.1-1"
"""A handle that names nothing."""
_META = "io.modelcontextprotocol"
_FOR_ALL = "report this: it concerns every client of that kind"


class Saying:
    """One flow over one line; its call is for `account`, where one is named.

    `told` yields a check for each step; after one that gets no answer there is no next.
    """

    def __init__(self, title: str, flow: Flow, line: Line, account: str | None = None) -> None:
        self._title, self._flow, self._line = title, flow, line
        self._of: dict[str, str] = {} if account is None else {"account": account}
        self._numbers = count(1)
        self._version: str | None = None
        self._tools: dict[str, dict[str, Any]] = {}

    async def told(self) -> AsyncIterator[Check]:
        """Take every step."""
        step = "answers"
        try:
            for step, take in (
                ("greeting", self._greet),
                ("tools", self._list),
                ("call", self._call),
                ("refusal", self._refuse),
                ("end", self._end),
            ):
                yield await take(f"{self._title}: {step}")
        except NoAnswerError as error:
            yield fix(f"{self._title}: {step}", error.why, error.next)
            await self._line.end(self._headers(None), politely=False)

    async def _greet(self, title: str) -> Check:
        flow = self._flow
        if isinstance(self._line, Web):
            for method in flow.before:
                status = await self._line.knock(method, {"user-agent": flow.headers.get("user-agent", "")})
                if status == 403 or status >= 500:
                    return fix(title, f"{method} before the first message is answered {status}", _FOR_ALL)
        if flow.modern:
            answer = await self._ask("server/discover")
            versions = answer.get("result", {}).get("supportedVersions", [])
            if flow.version not in versions:
                return fix(title, f"{flow.version} is not offered", _FOR_ALL)
        else:
            said = {"protocolVersion": flow.version, "capabilities": flow.capabilities, "clientInfo": flow.client}
            answer = await self._ask("initialize", **said)
            agreed = answer.get("result", {}).get("protocolVersion")
            if agreed != flow.version:
                return fix(title, f"it says {flow.version} and is answered {agreed}", _FOR_ALL)
            self._version = agreed
            await self._tell("notifications/initialized")
        return ok(title, f"{flow.version}, {flow.about}")

    async def _list(self, title: str) -> Check:
        flow = self._flow
        for method in flow.lists:
            answer = await self._ask(method)
            if "result" not in answer:
                return fix(title, f"{method} is answered {answer.get('error', {}).get('message', 'nothing')}", _FOR_ALL)
            if method == "tools/list":
                self._tools = {tool["name"]: tool for tool in answer["result"]["tools"]}
        long = [name for name in self._tools if len(flow.prefix + name) > flow.longest_name]
        if long:
            return fix(title, f"too long a name for it: {', '.join(long)}", _FOR_ALL)
        size = len(json.dumps(list(self._tools.values())))
        told = f"{len(self._tools)}, {size:,} bytes"
        if flow.listing_bytes is not None and size > flow.listing_bytes:
            why = (
                f"{told}: beyond {flow.listing_bytes:,} it may hide them from a model of 64k behind a search of its own"
            )
            return Check(
                title,
                State.NOTE,
                why,
                "a smaller profile shows them all: `mcp-proton clients add NAME --profile core`",
            )
        return ok(title, told)

    async def _call(self, title: str) -> Check:
        name, arguments = self._named("mailboxes_list", self._of)
        result = await self._result(name, arguments)
        if self._flow.cancels:
            await self._tell("notifications/cancelled", requestId=next(self._numbers) - 1, reason="over")
        text, structured = _text(result), result.get("structuredContent")
        if result.get("isError"):
            return fix(title, f"{name} is answered as a fault", _FOR_ALL)
        if self._flow.reads != "structured" and (not text or (structured is not None and _read(text) != structured)):
            return fix(title, f"the text of {name} is not the whole answer, and it reads the text", _FOR_ALL)
        if self._flow.reads == "structured" and structured is None:
            return fix(title, f"{name} has no structured answer, and it reads that", _FOR_ALL)
        most = self._flow.result_characters
        if most is not None and len(text) > most:
            return fix(title, f"an answer of {len(text):,} characters is cut at {most:,}", _FOR_ALL)
        answer = structured if isinstance(structured, dict) else _read(text)
        status = answer.get("status") if isinstance(answer, dict) else None
        if status != "ok":
            why = answer.get("why", "") if isinstance(answer, dict) else ""
            following = answer.get("next") if isinstance(answer, dict) else None
            return fix(title, f"{name} is answered {status}: {why}", following)
        where = f" for {self._of['account']}" if self._of else ""
        return ok(title, f"{name}{where} is answered, {len(text):,} characters")

    async def _refuse(self, title: str) -> Check:
        """A mistake of the model's has to come back as an answer: some programs shut out a server that faults."""
        name, arguments = self._named("messages_get", {"message": _NOWHERE})
        for _ in range((self._flow.faults or 1) + 1):
            result = await self._result(name, arguments)
            if result.get("isError"):
                after = f", and after {self._flow.faults} it shuts us out" if self._flow.faults else ""
                return fix(title, f"a handle that names nothing is answered as a fault{after}", _FOR_ALL)
        return ok(title, "a mistake is answered as an answer" + (", however often" if self._flow.faults else ""))

    async def _end(self, title: str) -> Check:
        wrong = await self._line.end(self._headers(None), politely=self._flow.ends)
        return fix(title, wrong, _FOR_ALL) if wrong else ok(title, "in order")

    def _named(self, operation: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return how an operation is called: by its own tool, or through the grouped one of the compact profile."""
        if operation in self._tools:
            return operation, arguments
        return "mail_read", {"operation": operation, "arguments": arguments}

    async def _result(self, name: str, arguments: dict[str, Any]) -> Message:
        answer = await self._ask("tools/call", name=name, arguments=arguments)
        if "result" not in answer:
            raise NoAnswerError(f"{name} is answered {answer.get('error', {}).get('message')}", _FOR_ALL)
        found: Message = answer["result"]
        return found

    async def _ask(self, method: str, **params: Any) -> Message:
        message = self._message(method, params) | {"id": next(self._numbers)}
        answer = await self._line.say(message, self._headers(message))
        assert answer is not None
        return answer

    async def _tell(self, method: str, **params: Any) -> None:
        message = self._message(method, params)
        await self._line.say(message, self._headers(message))

    def _message(self, method: str, params: dict[str, Any]) -> Message:
        if self._flow.modern:
            said = {"protocolVersion": self._flow.version, "clientInfo": self._flow.client}
            meta = {**said, "clientCapabilities": self._flow.capabilities}
            params = {**params, "_meta": {f"{_META}/{name}": value for name, value in meta.items()}}
        return {"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {})

    def _headers(self, message: Message | None) -> dict[str, str]:
        """Return what the program says in HTTP's own headers."""
        version = {"mcp-protocol-version": self._version} if self._version else {}
        if self._flow.modern and message is not None:
            version = {"mcp-protocol-version": self._flow.version, "mcp-method": message["method"]}
            named = message.get("params", {}).get("name")
            version |= {"mcp-name": named} if named else {}
        return {**self._flow.headers, **version}


def _text(result: Message) -> str:
    return "".join(part.get("text", "") for part in result.get("content", []) if part.get("type") == "text")


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
