"""Reviewing: a call that waits for the owner, asked in the owner's client where that is a review channel (P-39, N-5, P-85)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fastmcp.server.dependencies import get_context

from mcp_proton.domain.outcome import Status
from mcp_proton.mcp.ask import Answer, Asked, answered, ask
from mcp_proton.services.door.approving import check_question, question

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastmcp.tools.base import ToolResult

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.operation import Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.domain.review import Challenge
    from mcp_proton.services.door.service import MailService


async def through(
    service: MailService, caller: Caller, submit: Callable[[], Awaitable[Outcome[Result]]]
) -> Outcome[Result] | ToolResult:
    """Put a request to the door; where it waits, ask. A tool result means that the call will come again."""
    brought = answered(get_context())
    checking = await _live_check(service, caller, brought)
    if checking is not None:
        return checking
    if brought is not None and brought[0].startswith("op_"):
        return await _brought(service, caller, *brought)
    outcome = await submit()
    if outcome.status != "approval_pending" or outcome.operation_id is None or outcome.code == "approved":
        return outcome
    if not await service.approving.may_ask(caller, outcome.operation_id):
        return outcome
    asked = await _question(service, caller, outcome.operation_id)
    began = time.monotonic()
    answer = await ask(get_context(), f"{outcome.operation_id}|{began}", asked)
    if isinstance(answer, Asked):
        return answer.result
    if answer is not Answer.YES:
        return outcome
    return await _yes(service, caller, outcome.operation_id, asked, time.monotonic() - began) or outcome


async def _brought(service: MailService, caller: Caller, state: str, answer: Answer) -> Outcome[Result]:
    """Go on from an answer that came with a call of its own. The state is sealed, so the instant in it is ours."""
    operation_id, _, began = state.partition("|")
    stands = await service.standing(caller, operation_id)
    if answer is not Answer.YES or stands.state is not Status.PENDING:
        return stands
    asked = await _question(service, caller, operation_id)
    done = await _yes(service, caller, operation_id, asked, time.monotonic() - float(began))
    return done or await service.standing(caller, operation_id)


async def _yes(
    service: MailService, caller: Caller, operation_id: str, asked: str, seconds: float
) -> Outcome[Result] | None:
    if not await service.approving.takes(caller, operation_id, asked, seconds):
        return None
    return await service.resumed(caller, operation_id)


async def _question(service: MailService, caller: Caller, operation_id: str) -> str:
    record = await service.world.journal.read(operation_id, caller)
    return question(record, await service.review(operation_id))


async def _live_check(service: MailService, caller: Caller, brought: tuple[str, Answer] | None) -> ToolResult | None:
    """Ask the questions of a live check that waits for this client, before its call; then the call goes on."""
    challenge = await service.approving.check(caller)
    if challenge is None:
        return None
    began, answers = time.monotonic(), []
    if brought is not None and brought[0].startswith("check|"):
        _, started, earlier = brought[0].split("|")
        began, answers = float(started), [one == "y" for one in earlier]
        if brought[1] is Answer.NONE:
            return None
        answers.append(brought[1] is Answer.YES)
    return await _questions(service, caller, challenge, answers, began)


async def _questions(
    service: MailService, caller: Caller, challenge: Challenge, answers: list[bool], began: float
) -> ToolResult | None:
    while len(answers) < len(challenge.questions):
        state = f"check|{began}|{''.join('y' if one else 'n' for one in answers)}"
        answer = await ask(get_context(), state, check_question(challenge.questions[len(answers)]))
        if isinstance(answer, Asked):
            return answer.result
        if answer is Answer.NONE:
            return None
        answers.append(answer is Answer.YES)
    await service.approving.checked(caller, challenge, answers, time.monotonic() - began)
    return None
