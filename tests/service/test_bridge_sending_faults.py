"""The fault matrix of sending on Bridge: each step of SMTP and each call of the API behind × each fault (N-16, P-92, B-04).

Whatever goes wrong, in the end the journal says of the mail what is true: it left, or it did not. It is handed over once; where
it arrived twice, Bridge itself repeated its call. No draft is left behind, and nothing is sent that was not allowed.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_proton.domain.mail import Role

from .bridge_desk import BOB, ME, Desk, on_bridge

MAIL: dict[str, Any] = {"from": ME, "to": [BOB], "subject": "Report", "text": "Here it is.", "attach": []}
WIRE = [
    *itertools.product(
        ("before MAIL", "before RCPT", "before DATA", "after DATA", "after acceptance"), ("drop", "refuse", "bye")
    ),
    ("before EHLO", "drop"),
    ("before AUTH", "drop"),
    ("before APPEND", "drop"),
]
CALLS = {
    "draft": ("/messages$", "POST"),
    "attachment": ("/attachments$", "POST"),
    "keys": ("/core/v4/keys", "GET"),
    "send": ("/messages/[0-9a-f-]+$", "POST"),
}


@dataclass(frozen=True)
class ApiFault:
    """A call that fails, how, and how often (-1: until the end)."""

    call: str
    mode: str
    status: int
    count: int

    def __str__(self) -> str:
        return f"{self.call}-{self.mode or 'refused'}-{self.status}-{self.count}"


API = [
    *(ApiFault(call, "", status, count) for call in CALLS for status in (422, 500, 503) for count in (1, -1)),
    *(
        ApiFault(call, mode, 500, count)
        for call in CALLS
        for mode in ("after", "drop", "after-drop")
        for count in (1, -1)
    ),
]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with on_bridge() as made:
        yield made


async def settled(desk: Desk, told: dict[str, Any]) -> dict[str, Any]:
    """Let the trouble end and the time go by, and look."""
    desk.sim.faults.clear()
    await desk.wind(5)
    await desk.now(told)
    await desk.wind(120)
    return await desk.now(told)


async def check(desk: Desk, told: dict[str, Any]) -> None:
    """The laws."""
    now = await settled(desk, told)
    assert now["state"] in {"succeeded", "failed"}, (told, now)
    assert (now["state"] == "succeeded") == bool(desk.left), (told, now)
    if told["status"] == "ok":
        assert desk.left
    if told["status"] not in {"ok", "unsure"}:
        assert not desk.left
    assert await desk.held(Role.DRAFTS) == []
    assert len(await desk.held(Role.SENT)) == bool(desk.left)


async def mail(desk: Desk) -> dict[str, Any]:
    """Send a mail with a file."""
    async with desk.artifacts.create(desk.agent, "list.csv", "text/csv") as writer:
        await writer.write(b"a,b,c\r\n")
        kept = await writer.done()
    return await desk.patiently("mail_send", **MAIL | {"attach": [{"artifact": kept.id}]})


@pytest.mark.parametrize(("step", "action"), WIRE, ids=str)
async def test_whatever_happens_on_the_wire_the_end_is_the_truth(desk: Desk, step: str, action: Any) -> None:
    desk.sim.faults.at(step, action=action)
    told = await mail(desk)
    if "operation_id" not in told:  # it ended before there was anything to do
        assert (told["status"], desk.left) == ("unavailable", [])
        return
    await check(desk, told)
    assert len(desk.left) <= 1


@pytest.mark.parametrize("fault", API, ids=str)
async def test_whatever_proton_answers_the_end_is_the_truth(desk: Desk, fault: ApiFault) -> None:
    path, method = CALLS[fault.call]
    desk.sim.faults.fail_api(path, method=method, mode=fault.mode, status=fault.status, count=fault.count)
    told = await mail(desk)
    await check(desk, told)
    doubled_by_bridge = fault.call == "send" and fault.mode == "after-drop"
    assert len(desk.left) <= 1 or doubled_by_bridge


@pytest.mark.parametrize("fault", [one for one in API if one.call == "send"], ids=str)
async def test_an_agent_that_asks_again_at_once_doubles_nothing(desk: Desk, fault: ApiFault) -> None:
    path, method = CALLS[fault.call]
    desk.sim.faults.fail_api(path, method=method, mode=fault.mode, status=fault.status, count=fault.count)
    await desk.patiently("mail_send", **MAIL)
    first = len(desk.left)
    desk.sim.faults.clear()
    again = await desk.patiently("mail_send", **MAIL)
    assert len(desk.left) == first or first == 0
    assert len(desk.left) <= max(1, first)
    if first:
        assert again["code"] in {"may_be_sent_already", "would_be_suppressed"}
