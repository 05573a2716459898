"""Replies: an answer as an MCP tool result. The text is exactly the JSON of the structured content, so each stands alone.

What was to be expected (refused, waiting, stale, not found) is an ordinary result: agents that count tool faults must not
lock the mail out because a rule said no. Only a malformed request and a fault of ours are marked `isError`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastmcp.tools.base import ToolResult
from mcp_types import ContentBlock, TextContent
from pydantic_core import PydanticSerializationError, to_json

from mcp_proton.domain.errors import Defect, MailError
from mcp_proton.mcp.arguments import Malformed
from mcp_proton.services.presenting.answers import answer
from mcp_proton.services.presenting.telling import told

if TYPE_CHECKING:
    from mcp_proton.domain.operation import Result
    from mcp_proton.domain.outcome import Outcome


def compact(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return an answer as JSON without padding, and the same as values. What UTF-8 cannot carry becomes `?`."""
    try:
        return to_json(body).decode(), body
    except PydanticSerializationError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
        return text, json.loads(text)


def reply(outcome: Outcome[Result]) -> ToolResult:
    """Tell how it ended."""
    return say(answer(outcome), is_error=outcome.code == Defect.code)


def complain(error: MailError) -> ToolResult:
    """Tell what kept a request from reaching the door."""
    return say(answer(told(error)), is_error=isinstance(error, Malformed | Defect))


def say(body: dict[str, Any], *, is_error: bool = False) -> ToolResult:
    """Put an answer's values on the wire. They are JSON values: to have the framework make such of them would be a copy."""
    text, body = compact(body)
    content: list[ContentBlock] = [TextContent(type="text", text=text)]
    return ToolResult.model_construct(content=content, structured_content=body, meta=None, is_error=is_error)
