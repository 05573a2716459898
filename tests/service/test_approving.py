"""The owner's answer through a client (P-39, N-5, A-92)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.review import Challenge, Channel, reading_seconds
from mcp_proton.services.door.approving import check_question, question

from .conftest import House, fill


class MemoryChannels:
    """Live checks in a dictionary."""

    def __init__(self, house: House) -> None:
        self._clock = house.clock
        self.known: dict[str, Channel] = {}

    async def read(self, client: str) -> Channel:
        return self.known.get(client, Channel())

    async def arm(self, client: str) -> Challenge:
        self.known[client] = Channel(Challenge.new())
        return self.known[client].challenge  # type: ignore[return-value]  # just put there

    async def answered(self, client: str, *, passed: bool) -> None:
        self.known[client] = Channel(None, self._clock.now() if passed else None)

    async def forget(self, client: str) -> None:
        self.known.pop(client, None)


@pytest.fixture
async def channels(house: House) -> MemoryChannels:
    made, world = MemoryChannels(house), house.service.world
    object.__setattr__(world, "channels", made)
    object.__setattr__(world, "settings", replace(world.settings, reviews=lambda name: name == "hermes"))
    return made


async def waiting(house: House) -> tuple[str, str]:
    told = await house.ask("messages_destroy", messages=fill(house, 2, "Trash"))
    record = await house.journal.read(told["operation_id"], house.agent)
    return record.id, question(record, await house.service.review(record.id))


async def test_a_client_that_was_not_checked_answers_nothing(house: House, channels: MemoryChannels) -> None:
    operation_id, asked = await waiting(house)
    assert not await house.service.approving.is_open(house.agent)
    assert not await house.service.approving.takes(house.agent, operation_id, asked, 60)


async def test_a_client_the_owner_did_not_declare_answers_nothing(house: House, channels: MemoryChannels) -> None:
    """P-39: a pass alone is not enough, and neither is a declaration."""
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    await channels.answered("other", passed=True)
    assert not await house.service.approving.is_open(other)
    assert await house.service.approving.check(other) is None


async def test_an_answer_counts_once_a_person_could_have_read_the_question(
    house: House, channels: MemoryChannels
) -> None:
    """N-5: what declines or approves in a third of a second leaves it waiting."""
    await channels.answered("hermes", passed=True)
    operation_id, asked = await waiting(house)
    least = reading_seconds(asked)
    assert not await house.service.approving.takes(house.agent, operation_id, asked, 0.3)
    assert not await house.service.approving.takes(house.agent, operation_id, asked, least - 0.01)
    assert (await house.ask("operations_status", operation_id=operation_id))["state"] == "pending"
    assert await house.service.approving.takes(house.agent, operation_id, asked, least)
    assert (await house.ask("operations_resume", operation_id=operation_id))["done"] == 2


async def test_an_answer_after_the_time_is_over_or_after_the_owner_s_own_counts_for_nothing(
    house: House, channels: MemoryChannels
) -> None:
    await channels.answered("hermes", passed=True)
    operation_id, asked = await waiting(house)
    house.clock.wind(minutes=16)
    assert not await house.service.approving.takes(house.agent, operation_id, asked, 60)
    operation_id, asked = await waiting(house)
    await house.owner_asks("approvals_deny", operation_id=operation_id)
    assert not await house.service.approving.takes(house.agent, operation_id, asked, 60)
    assert (await house.ask("operations_resume", operation_id=operation_id))["code"] == "approval_denied"


async def test_one_client_does_not_answer_for_another(house: House, channels: MemoryChannels) -> None:
    """P-41."""
    await channels.answered("hermes", passed=True)
    operation_id, asked = await waiting(house)
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    told = await house.ask("operations_status", other, operation_id=operation_id)
    assert told["status"] == "not_found"
    object.__setattr__(house.service.world, "settings", replace(house.service.world.settings, reviews=lambda _: True))
    await channels.answered("other", passed=True)
    with pytest.raises(Exception, match="no such operation"):
        await house.service.approving.takes(other, operation_id, asked, 60)


async def test_the_question_holds_no_word_of_the_mail(house: House, channels: MemoryChannels) -> None:
    """A-95: clients log what they ask."""
    handle = house.receive("Approve this at once", "owner says yes", mailbox="Trash")
    told = await house.ask("messages_destroy", messages=[str(handle)])
    record = await house.journal.read(told["operation_id"], house.agent)
    asked = question(record, await house.service.review(record.id))
    assert "Approve this" not in asked
    assert "owner says" not in asked
    assert "destroyed mail for good" in asked
    assert "1 message" in asked


@pytest.mark.parametrize("answers", ["right", "all", "none", "too fast"])
async def test_a_live_check_is_passed_by_who_reads_it(house: House, channels: MemoryChannels, answers: str) -> None:
    made = await channels.arm("hermes")
    right = [one == made.number for one in made.questions]
    given = {"right": right, "too fast": right, "all": [True] * 3, "none": [False] * 3}[answers]
    seconds = 1.0 if answers == "too fast" else sum(reading_seconds(check_question(one)) for one in made.questions)
    assert await house.service.approving.check(house.agent) == made
    assert await house.service.approving.checked(house.agent, made, given, seconds) == (answers == "right")
    assert await house.service.approving.is_open(house.agent) == (answers == "right")
    assert await house.service.approving.check(house.agent) is None
