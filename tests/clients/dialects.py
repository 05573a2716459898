"""The tongues agents speak to their models: OpenAI's Responses, Anthropic's Messages, Gemini's generateContent.

Each is put into the chat form the stand-in model knows, and its message back into the tongue: as much as an agent needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

Body = dict[str, Any]
Said = Mapping[str, Any]


class Dialect(Protocol):
    """One tongue."""

    def hears(self, path: str) -> bool:
        """Whether a request to a path is in it."""
        ...

    def chat(self, body: Body) -> Body:
        """Return a request in the chat form."""
        ...

    def whole(self, body: Body, message: Said) -> Body:
        """Return the answer as one value."""
        ...

    def events(self, body: Body, message: Said) -> Iterator[tuple[str | None, Body]]:
        """Yield the answer as named events."""
        ...


def calls(message: Said) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of each call in a message."""
    return [
        (one["id"], one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls") or []
    ]


def call(number: str, name: str, arguments: str) -> Body:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(name: str, told: Mapping[str, Any]) -> Body:
    return {"type": "function", "function": {"name": name, "description": told.get("description", "")}}


class Responses:
    """OpenAI's Responses, with a namespace for each server as Codex has it."""

    def hears(self, path: str) -> bool:
        return path.endswith("/responses")

    def chat(self, body: Body) -> Body:
        tools = []
        for one in body.get("tools") or []:
            inner = one.get("tools") if one.get("type") == "namespace" else None
            tools += [tool(f"{one['name']}::{each['name']}", each) for each in inner or []]
            if inner is None and "name" in one:
                tools.append(tool(one["name"], one))
        messages: list[Body] = []
        for item in body.get("input") or []:
            match item.get("type", "message"):
                case "function_call":
                    name = f"{item['namespace']}::{item['name']}" if item.get("namespace") else item["name"]
                    made = call(item["call_id"], name, item["arguments"])
                    messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
                case "function_call_output":
                    output = item["output"]
                    text = output if isinstance(output, str) else json.dumps(output)
                    messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": text})
                case "message":
                    messages.append({"role": item["role"], "content": item["content"]})
        return {"messages": messages, "tools": tools}

    def whole(self, body: Body, message: Said) -> Body:
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return {
            "id": "stub",
            "object": "response",
            "created_at": 0,
            "model": body.get("model"),
            "status": "completed",
            "output": self._items(message),
            "usage": usage,
        }

    def events(self, body: Body, message: Said) -> Iterator[tuple[str | None, Body]]:
        whole = self.whole(body, message)
        begun = {**whole, "status": "in_progress", "output": []}
        told: list[Body] = [{"type": "response.created", "response": begun}]
        for at, item in enumerate(whole["output"]):
            told += [
                {"type": f"response.output_item.{state}", "output_index": at, "item": item}
                for state in ("added", "done")
            ]
        told.append({"type": "response.completed", "response": whole})
        for number, one in enumerate(told):
            yield one["type"], {**one, "sequence_number": number}

    def _items(self, message: Said) -> list[Body]:
        items: list[Body] = []
        for number, name, arguments in calls(message):
            space, _, bare = name.rpartition("::")
            more = {"namespace": space} if space else {}
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{number}",
                    "call_id": number,
                    "name": bare,
                    "arguments": arguments,
                    "status": "completed",
                    **more,
                }
            )
        if not items:
            part = {"type": "output_text", "text": message["content"], "annotations": []}
            items = [{"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}]
        return items


class Messages:
    """Anthropic's Messages."""

    def hears(self, path: str) -> bool:
        return path.endswith("/messages")

    def chat(self, body: Body) -> Body:
        messages: list[Body] = []
        for one in body["messages"]:
            parts = one["content"] if isinstance(one["content"], list) else [{"type": "text", "text": one["content"]}]
            results = [part for part in parts if part["type"] == "tool_result"]
            uses = [part for part in parts if part["type"] == "tool_use"]
            if results:  # what stands beside results is no new turn of the user's
                messages += [
                    {"role": "tool", "tool_call_id": part["tool_use_id"], "content": part.get("content", "")}
                    for part in results
                ]
            elif uses:
                made = [call(part["id"], part["name"], json.dumps(part["input"])) for part in uses]
                messages.append({"role": "assistant", "content": None, "tool_calls": made})
            elif not any("tool_calls" in before for before in messages):  # later it only reminds the model of things
                messages.append({"role": one["role"], "content": parts})
        return {"messages": messages, "tools": [tool(one["name"], one) for one in body.get("tools") or []]}

    def whole(self, body: Body, message: Said) -> Body:
        made: list[Body] = [
            {"type": "tool_use", "id": number, "name": name, "input": json.loads(arguments)}
            for number, name, arguments in calls(message)
        ]
        return {
            "id": f"msg_{made[0]['id'] if made else 'last'}",  # messages of one id are one to it
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": made or [{"type": "text", "text": message["content"]}],
            "stop_reason": "tool_use" if made else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self, body: Body, message: Said) -> Iterator[tuple[str | None, Body]]:
        whole = self.whole(body, message)
        told: list[Body] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for at, part in enumerate(whole["content"]):
            empty: Body = {"type": "text", "text": ""}
            delta: Body = {"type": "text_delta", "text": part.get("text")}
            if part["type"] == "tool_use":
                empty = {**part, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            told += [
                {"type": "content_block_start", "index": at, "content_block": empty},
                {"type": "content_block_delta", "index": at, "delta": delta},
                {"type": "content_block_stop", "index": at},
            ]
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        told += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
        for one in told:
            yield one["type"], one


class Gemini:
    """Gemini's generateContent. Its calls have no ids: the place in the conversation is one."""

    def hears(self, path: str) -> bool:
        return "enerateContent" in path

    def chat(self, body: Body) -> Body:
        messages: list[Body] = []
        made = answered = 0
        for one in body.get("contents") or []:
            parts = one.get("parts") or []
            uses = [part["functionCall"] for part in parts if "functionCall" in part]
            results = [part["functionResponse"] for part in parts if "functionResponse" in part]
            if uses:
                told = [
                    call(f"call_{made + at}", use["name"], json.dumps(use.get("args", {})))
                    for at, use in enumerate(uses)
                ]
                made += len(uses)
                messages.append({"role": "assistant", "content": None, "tool_calls": told})
            for result in results:
                text = json.dumps(result.get("response"))
                messages.append({"role": "tool", "tool_call_id": f"call_{answered}", "content": text})
                answered += 1
            if not uses and not results:
                role = "assistant" if one.get("role") == "model" else "user"
                messages.append({"role": role, "content": "".join(part.get("text", "") for part in parts)})
        tools = [
            tool(each["name"], each)
            for one in body.get("tools") or []
            for each in one.get("functionDeclarations") or []
        ]
        return {"messages": messages, "tools": tools}

    def whole(self, body: Body, message: Said) -> Body:
        parts: list[Body] = [
            {"functionCall": {"name": name, "args": json.loads(arguments)}} for _, name, arguments in calls(message)
        ]
        content = {"role": "model", "parts": parts or [{"text": message["content"]}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}

    def events(self, body: Body, message: Said) -> Iterator[tuple[str | None, Body]]:
        yield None, self.whole(body, message)


DIALECTS: tuple[Dialect, ...] = (Responses(), Messages(), Gemini())
