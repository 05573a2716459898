"""Asking the owner inside a client, in both protocol eras (P-39, P-85, N-5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.review import Challenge, Channel
from mcp_proton.mcp import reviewing
from mcp_proton.mcp.ask import KEY, Answer, answered
from mcp_proton.policy.presets import Preset
from mcp_proton.policy.rules import Verdict

from .world import CLIENT, ERAS, Lab, policy, rule

ASKING = policy(Preset.ASSISTANT, rule(Verdict.ASK, Effect.ORGANIZE))


class Watch:
    """A clock that goes on by so much whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.at, self.step = 0.0, step

    def monotonic(self) -> float:
        self.at += self.step
        return self.at


class Channels:
    """Live checks in a dictionary."""

    def __init__(self, clock) -> None:
        self.clock, self.known = clock, {}

    async def read(self, client: str) -> Channel:
        return self.known.get(client, Channel())

    async def answered(self, client: str, *, passed: bool) -> None:
        self.known[client] = Channel(None, self.clock.now() if passed else None)


@pytest.fixture
def lab(monkeypatch):
    made = Lab(ASKING)
    channels = Channels(made.clock)
    channels.known[CLIENT] = Channel(None, made.clock.now())
    object.__setattr__(made.service.world, "channels", channels)
    object.__setattr__(made.service.world, "settings", replace(made.service.world.settings, reviews=lambda _: True))
    monkeypatch.setattr(reviewing, "time", Watch(60.0))
    return made


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), []

    async def __call__(self, message, response_type, params, context):
        self.asked.append(message)
        answer = self.answers.pop(0) if self.answers else "accept"
        return ElicitResult(action=answer, content={} if answer == "accept" else None)


async def archive(lab: Lab, era: str, person: Person | None):
    async with Client(lab.server(), mode=era, elicitation_handler=person) as client:
        return (await client.call_tool("messages_archive", {"messages": lab.handles[:1]})).structured_content


def archived(lab: Lab) -> int:
    return len(lab.account.boxes["Archive"].mail)


@pytest.mark.parametrize("era", ERAS)
async def test_a_yes_in_the_client_does_it_at_once(lab, era):
    person = Person("accept")
    told = await archive(lab, era, person)
    assert (told["status"], told["done"], archived(lab)) == ("ok", 1, 1)
    assert len(person.asked) == 1
    assert "1 message" in person.asked[0]
    assert "Letter 1" not in person.asked[0]


@pytest.mark.parametrize("answer", ["decline", "cancel"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_no_or_a_silence_leaves_it_in_the_owner_s_queue(lab, era, answer):
    """P-39."""
    told = await archive(lab, era, Person(answer))
    assert (told["status"], told["state"], archived(lab)) == ("approval_pending", "pending", 0)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_cannot_ask_gets_the_waiting_operation(lab, era):
    told = await archive(lab, era, None)
    assert (told["status"], archived(lab)) == ("approval_pending", 0)


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_faster_than_reading_leaves_it_waiting(lab, era, monkeypatch):
    """N-5: an automatic yes in less than 300 ms."""
    monkeypatch.setattr(reviewing, "time", Watch(0.25))
    told = await archive(lab, era, Person("accept"))
    assert (told["status"], told["state"], archived(lab)) == ("approval_pending", "pending", 0)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_a_live_check_is_not_even_asked(lab, era):
    lab.service.world.channels.known.clear()
    person = Person("accept")
    told = await archive(lab, era, person)
    assert (told["status"], person.asked) == ("approval_pending", [])


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("era", ERAS)
async def test_a_live_check_comes_before_the_client_s_next_call_which_then_goes_on(lab, era, passes):
    made = Challenge("47", ("11", "47", "11"))
    lab.service.world.channels.known[CLIENT] = Channel(made)
    right = ["accept" if one == made.number else "decline" for one in made.questions]
    person = Person(*(right if passes else ["accept"] * 3))
    async with Client(lab.server(), mode=era, elicitation_handler=person) as client:
        told = (await client.call_tool("messages_list", {})).structured_content
    assert (told["status"], len(told["messages"])) == ("ok", 3)
    assert [one for one in made.questions if any(one in asked for asked in person.asked)] == list(made.questions)
    assert (lab.service.world.channels.known[CLIENT].checked is not None) == passes
    assert isinstance(lab.clock.now(), datetime)


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_is_asked_twice_about_the_same(lab, era):
    """An agent that resumes again and again does not wear the owner down."""
    person = Person("decline")
    async with Client(lab.server(), mode=era, elicitation_handler=person) as client:
        told = await client.call_tool("messages_archive", {"messages": lab.handles[:1]})
        waiting = told.structured_content["operation_id"]
        for _ in range(3):
            again = await client.call_tool("operations_resume", {"operation_id": waiting})
    assert again.structured_content["state"] == "pending"
    assert (len(person.asked), archived(lab)) == (1, 0)


def test_an_answer_that_nobody_asked_for_is_not_seen():
    """A client can send answers with its very first call; without the state that we sealed they are not answers."""
    yes = mcp_types.ElicitResult(action="accept", content={})
    request = SimpleNamespace(protocol_version=ERAS[1])
    unasked = SimpleNamespace(request_context=request, request_state=None, input_responses={KEY: yes})
    assert answered(unasked) is None
    asked = SimpleNamespace(request_context=request, request_state="op_a|1", input_responses={KEY: yes})
    assert answered(asked) == ("op_a|1", Answer.YES)
    legacy = SimpleNamespace(request_context=SimpleNamespace(protocol_version="2025-11-25"), request_state="op_a|1")
    assert answered(legacy) is None
