"""Live checks of review channels (N-5)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.review import QUESTIONS, Challenge, reading_seconds
from mcp_proton.storage.access.channels import ARMED_SECONDS, SqlChannels


@pytest.fixture
def channels(database, clock):
    return SqlChannels(database, clock)


async def test_a_client_is_no_channel_until_it_passed(channels, clock):
    assert (await channels.read("hermes")).checked is None
    challenge = await channels.arm("hermes")
    assert (await channels.read("hermes")).challenge == challenge
    await channels.answered("hermes", passed=True)
    assert (await channels.read("hermes")).checked == clock.now()
    assert (await channels.read("hermes")).challenge is None
    assert (await channels.read("goose")).checked is None


async def test_a_check_that_failed_or_began_anew_takes_an_earlier_pass_away(channels):
    await channels.arm("hermes")
    await channels.answered("hermes", passed=True)
    await channels.arm("hermes")
    assert (await channels.read("hermes")).checked is None
    await channels.answered("hermes", passed=False)
    assert (await channels.read("hermes")).checked is None


async def test_a_check_waits_ten_minutes(channels, clock):
    await channels.arm("hermes")
    clock.wind(seconds=ARMED_SECONDS + 1)
    assert (await channels.read("hermes")).challenge is None


async def test_what_is_forgotten_is_gone(channels):
    await channels.arm("hermes")
    await channels.answered("hermes", passed=True)
    await channels.forget("hermes")
    assert (await channels.read("hermes")).checked is None


def test_neither_approving_nor_declining_everything_passes():
    for _ in range(200):
        made = Challenge.new()
        assert len(made.questions) == QUESTIONS
        assert not made.passes([True] * QUESTIONS)
        assert not made.passes([False] * QUESTIONS)
        assert not made.passes([])
        assert made.passes([one == made.number for one in made.questions])


def test_reading_takes_the_longer_the_more_there_is():
    assert 1 < reading_seconds("Yes?") < reading_seconds("word " * 40) < 10
