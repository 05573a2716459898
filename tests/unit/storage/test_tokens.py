"""Client tokens in the store: shown once, hashed, gone at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcp_proton.domain.tokens import digest, public_half
from mcp_proton.storage.access.tokens import SqlTokens


@pytest.fixture
def tokens(database, place, clock):
    return SqlTokens(database, place.parent / "tokens.changed", clock)


async def test_a_token_is_checked_by_its_hash_and_is_nobodys_once_replaced(tokens, place):
    first = await tokens.issue("hermes")
    assert (await tokens.check(first)).client == "hermes"
    second = await tokens.issue("hermes")
    assert await tokens.check(first) is None
    assert (await tokens.check(second)).client == "hermes"
    [kept] = await tokens.listed()
    assert kept.digest == digest(second)
    assert kept.shown == second.rpartition("_")[0]
    files = b"".join(path.read_bytes() for path in place.parent.iterdir() if path.is_file())
    assert second.encode() not in files
    assert second.rpartition("_")[2].encode() not in files


async def test_what_another_process_withdraws_is_gone_at_the_next_look(tokens, database, place, clock):
    """P-97."""
    other = SqlTokens(database, place.parent / "tokens.changed", clock)
    token = await tokens.issue("hermes")
    assert await other.check(token)
    assert await tokens.withdraw("hermes")
    assert await other.check(token) is None
    assert not await tokens.withdraw("hermes")


async def test_a_token_ends_when_its_time_has_passed(tokens, clock):
    token = await tokens.issue("hermes", clock.now() + timedelta(days=1))
    assert await tokens.check(token)
    clock.wind(days=1)
    assert await tokens.check(token) is None


@pytest.mark.parametrize(
    "wrong", ["", "mcpp_", "mcpp_x_y", "MCPP_" + "a" * 61, "\ud800", "mcpp_" + "a" * 10 + "_" + "é" * 50]
)
async def test_what_has_not_the_form_of_a_token_is_nobodys(tokens, wrong):
    await tokens.issue("hermes")
    assert public_half(wrong) is None
    assert await tokens.check(wrong) is None
