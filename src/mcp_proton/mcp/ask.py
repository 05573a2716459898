"""Ask: a question to the person behind a client, in both protocol eras.

In the handshake era the server asks while the call is open; in the modern era the tool answers that it needs input, and is
called again from the top with the answer and our sealed state. No answer counts without that state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from fastmcp.tools.base import InputRequiredToolResult
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from fastmcp import Context
    from fastmcp.tools.base import ToolResult

KEY = "approve"
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {KEY: {"type": "boolean", "title": "Approve", "default": True}},
}
"""One property, and an optional one: some clients show no empty form, others send an empty answer for a yes."""


class Answer(Enum):
    """What came back."""

    YES = "yes"
    NO = "no"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Asked:
    """The call must end with this result, and will come again."""

    result: ToolResult


async def ask(context: Context, state: str, question: str, wait: float = 240.0) -> Answer | Asked:
    """Ask, or (in the modern era) say that it must be asked. NONE where the client cannot ask anybody."""
    if not _can_ask(context):
        return Answer.NONE
    if _is_modern(context):
        return _required(state, question)
    try:
        with anyio.fail_after(wait):
            told = await context.session.elicit_form(question, _SCHEMA, related_request_id=context.request_id)
    except (TimeoutError, MCPError):
        return Answer.NONE
    return _verdict(told)


def answered(context: Context) -> tuple[str, Answer] | None:
    """Return the state we sealed and the answer to it, where this call brings one."""
    if not _is_modern(context) or context.request_state is None:
        return None
    told = (context.input_responses or {}).get(KEY)
    return context.request_state, _verdict(told) if isinstance(told, mcp_types.ElicitResult) else Answer.NONE


def _can_ask(context: Context) -> bool:
    capabilities = context.session.client_capabilities if context.request_context else None
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and not (elicitation.form is None and elicitation.url is not None)


def _is_modern(context: Context) -> bool:
    request = context.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _required(state: str, question: str) -> Asked:
    form = mcp_types.ElicitRequestFormParams(message=question, requested_schema=_SCHEMA)
    needed = mcp_types.InputRequiredResult(
        result_type="input_required",
        request_state=state,
        input_requests={KEY: mcp_types.ElicitRequest(params=form)},
    )
    return Asked(InputRequiredToolResult(needed))


def _verdict(told: mcp_types.ElicitResult) -> Answer:
    if told.action == "decline":
        return Answer.NO
    if told.action != "accept":
        return Answer.NONE
    return Answer.YES if (told.content or {}).get(KEY, True) is True else Answer.NO
