"""Passkeys, sign-ins and refresh tokens as the store keeps them: hashed, bounded, and over when they are over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from mcp_proton.domain.errors import OverLimit
from mcp_proton.domain.signing_in import LIFE, MOST_PASSKEYS, MOST_ROTATIONS, MOST_SIGN_INS, Over
from mcp_proton.storage.access import sign_ins as sign_in_store
from mcp_proton.storage.access.passkeys import SqlPasskeys
from mcp_proton.storage.access.sign_ins import SqlSignIns
from mcp_proton.storage.tables import refresh_tokens


@pytest.fixture
def passkeys(database, clock):
    return SqlPasskeys(database, clock)


@pytest.fixture
def sign_ins(database, place, clock):
    return SqlSignIns(database, place.parent / "sign_ins.changed", clock)


def signed(answer) -> tuple:
    assert not isinstance(answer, Over), answer
    return answer


async def test_a_code_adds_one_passkey_once_and_however_it_is_typed(passkeys):
    code = await passkeys.invite()
    assert await passkeys.invited(code.upper().replace("-", " "))
    assert not await passkeys.invited("aaaa-bbbb-cccc-dddd")
    assert (await passkeys.add(f" {code} ", b"id", b"key", "laptop")).name == "laptop"
    assert await passkeys.add(code, b"other", b"key", "phone") is None
    assert [one.name for one in await passkeys.listed()] == ["laptop"]


async def test_a_code_is_over_after_ten_minutes_and_when_there_is_another(passkeys, clock):
    first = await passkeys.invite()
    second = await passkeys.invite()
    assert not await passkeys.invited(first)
    clock.wind(minutes=10)
    assert not await passkeys.invited(second)
    assert await passkeys.add(second, b"id", b"key", "late") is None


async def test_there_are_eight_passkeys_at_most(passkeys):
    """A-32."""
    for number in range(MOST_PASSKEYS):
        assert await passkeys.add(await passkeys.invite(), bytes([number]), b"key", str(number))
    with pytest.raises(OverLimit):
        await passkeys.add(await passkeys.invite(), b"ninth", b"key", "ninth")
    first = (await passkeys.listed())[0]
    assert await passkeys.remove(first.id)
    assert not await passkeys.remove(first.id)
    assert await passkeys.add(await passkeys.invite(), b"ninth", b"key", "ninth")


@pytest.mark.parametrize(
    ("counts", "good"), [((0, 0, 0), True), ((1, 2, 7), True), ((1, 1), False), ((5, 4), False), ((5, 0), False)]
)
async def test_a_passkey_that_counts_backwards_is_a_copy(passkeys, counts, good):
    """WebAuthn §6.1.1; one that never counts is on several devices."""
    await passkeys.add(await passkeys.invite(), b"id", b"key", "x")
    assert all([await passkeys.used(b"id", count) for count in counts]) is good
    assert not await passkeys.used(b"unknown", 0)
    assert (await passkeys.listed())[0].count == (counts[-1] if good else counts[0])


async def test_each_refresh_token_is_good_once_and_the_next_takes_its_place(sign_ins):
    """A-32."""
    made, refresh = await sign_ins.begin("hermes", "localhost", ["mail.read"])
    seen = {refresh}
    for _ in range(4):
        renewed, refresh = signed(await sign_ins.renew(refresh))
        assert (renewed.id, renewed.ends) == (made.id, made.ends)
        assert refresh not in seen
        seen.add(refresh)
    assert await sign_ins.check(made.id)


async def test_a_refresh_token_that_comes_again_ends_everything_it_gave(sign_ins):
    """A-32: somebody has a copy; whoever holds the newest one loses it too."""
    made, first = await sign_ins.begin("hermes", "localhost", ["mail.read"])
    _, second = signed(await sign_ins.renew(first))
    _, third = signed(await sign_ins.renew(second))
    assert await sign_ins.renew(first) is Over.REUSED
    assert await sign_ins.check(made.id) is None
    assert await sign_ins.renew(third) is Over.UNKNOWN


async def test_two_connections_of_a_program_may_renew_at_once_but_not_later(sign_ins, clock):
    """J-92: some programs open two connections and renew in both."""
    made, first = await sign_ins.begin("cursor", "cursor", ["mail.read"])
    _, one = signed(await sign_ins.renew(first))
    _, other = signed(await sign_ins.renew(first))
    assert one != other
    signed(await sign_ins.renew(one))
    signed(await sign_ins.renew(other))
    assert await sign_ins.check(made.id)
    clock.wind(seconds=11)
    assert await sign_ins.renew(other) is Over.REUSED
    assert await sign_ins.check(made.id) is None


async def test_a_sign_in_ends_thirty_days_after_it_began_however_often_it_was_renewed(sign_ins, clock):
    """A-32."""
    made, refresh = await sign_ins.begin("hermes", "localhost", ["mail.read"])
    for _ in range(29):
        clock.wind(days=1)
        _, refresh = signed(await sign_ins.renew(refresh))
    clock.wind(days=1)
    assert made.ends - made.created == LIFE == timedelta(days=30)
    assert await sign_ins.check(made.id) is None
    assert await sign_ins.of(refresh) is None
    assert await sign_ins.renew(refresh) is Over.ENDED
    assert await sign_ins.listed() == []


async def test_there_are_a_hundred_and_twenty_eight_sign_ins_and_the_longest_unused_ends_first(
    sign_ins, clock, monkeypatch
):
    """A-32."""
    assert MOST_SIGN_INS == 128
    monkeypatch.setattr(sign_in_store, "MOST_SIGN_INS", 4)
    made = []
    for number in range(4):
        clock.wind(seconds=1)
        made.append(await sign_ins.begin(f"c{number}", "x", ["mail.read"]))
    clock.wind(seconds=1)
    signed(await sign_ins.renew(made[0][1]))
    await sign_ins.begin("new", "x", ["mail.read"])
    assert [one.client for one in await sign_ins.listed()] == ["c0", "c2", "c3", "new"]
    assert await sign_ins.check(made[1][0].id) is None


async def test_a_sign_in_is_renewed_ten_thousand_times_at_most(sign_ins, database):
    """A-32."""
    made, refresh = await sign_ins.begin("hermes", "x", ["mail.read"])
    async with database.writing() as connection:
        await connection.execute(update(refresh_tokens).values(generation=MOST_ROTATIONS))
    assert await sign_ins.renew(refresh) is Over.ENDED
    assert await sign_ins.check(made.id) is None


async def test_what_another_process_ends_is_over_at_the_next_look(sign_ins, database, place, clock):
    """P-97."""
    other = SqlSignIns(database, place.parent / "sign_ins.changed", clock)
    ids = [(await sign_ins.begin(client, "x", ["mail.read"]))[0].id for client in ("a", "a", "b", "c")]
    assert await other.check(ids[0])
    assert await sign_ins.end(id=ids[0]) == 1
    assert await other.check(ids[0]) is None
    assert await sign_ins.end(client="a") == 1
    assert sorted(one.client for one in await other.listed()) == ["b", "c"]
    assert await sign_ins.end() == 2
    assert await other.check(ids[3]) is None
    async with database.reading() as connection:
        assert (await connection.execute(select(func.count()).select_from(refresh_tokens))).scalar_one() == 0


async def test_nothing_that_opens_anything_is_kept_readable(passkeys, sign_ins, place):
    code = await passkeys.invite()
    _, refresh = await sign_ins.begin("hermes", "x", ["mail.read"])
    files = b"".join(path.read_bytes() for path in place.parent.iterdir() if path.is_file())
    assert code.encode() not in files
    assert refresh.encode() not in files
    assert refresh.partition("_")[2].encode() not in files


@pytest.mark.parametrize("wrong", ["", "mcpr_", "x" * 100_000, "\ud800", "mcpr_" + "é" * 43])
async def test_what_is_no_refresh_token_is_nobodys(sign_ins, passkeys, wrong):
    await sign_ins.begin("hermes", "x", ["mail.read"])
    assert await sign_ins.renew(wrong) is Over.UNKNOWN
    assert await sign_ins.of(wrong) is None
    assert not await passkeys.invited(wrong)
