"""What six mail servers for agents were seen to do wrong on a real Bridge, asked of ours (scenarios 1, 2, 7 and 8).

On the simulator and on Proton's engine; what only Bridge itself does around its engine, on the simulator alone (`simulated`).
"""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import AuthFailed, MailError, Stale, Unavailable
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import FlagChange, Page, Standing
from mcp_proton.domain.query import All, And, Contains, Field, HasFlag, Not
from mcp_proton.imap.protocol.connection import Connection
from tests.contract import worlds
from tests.contract.letters import encoded, letter
from tests.contract.test_searching import LONG
from tests.contract.worlds import DAY, Mail, all_pages, box, newest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.simulator import GivenMessage
    from tests.contract.worlds import Bridge, OnBridge

MANY = 1_500
_PATHS_AND_ADDRESSES = re.compile(r"https?://|/home/|/Users/|:\\\\|no such user")


@pytest.fixture(scope="module")
def mailbox() -> Sequence[GivenMessage]:
    """1,500 messages, oldest first: a first sync gives the newest of them the lowest UID."""
    special = {
        40: letter("=?utf-8?b?R3LDvMOfZSBhdXMgQmVybGlu?=", number=40),
        41: encoded(LONG.encode(), charset="utf-8", encoding="quoted-printable"),
        42: encoded("Wir treffen uns in Zürich".encode("latin-1"), charset="iso-8859-1", encoding="base64"),
    }
    return [worlds.given(special.get(n) or letter(f"number {n}", number=n), n) for n in range(MANY)]


@pytest.fixture
async def simulated(mailbox: Sequence[GivenMessage]) -> AsyncIterator[Bridge]:
    async with worlds.bridge(mailbox) as world:
        yield world


# The first run builds the program, which takes minutes.
@pytest.fixture(
    params=[
        "simulator",
        pytest.param("engine", marks=[pytest.mark.server, pytest.mark.engine, pytest.mark.timeout(900)]),
    ]
)
async def synced(request: pytest.FixtureRequest, mailbox: Sequence[GivenMessage]) -> AsyncIterator[OnBridge]:
    if request.param == "simulator":
        async with worlds.bridge(mailbox) as world:
            yield world
    else:
        async with worlds.engine(request.getfixturevalue("gluon_server"), mailbox) as world:
            yield world


def expected(first: int, count: int) -> list[str]:
    return [f"number {number}" for number in range(first, first - count, -1)]


async def test_the_25_newest_are_shown_on_a_freshly_synced_bridge(synced: OnBridge) -> None:
    """Five of six showed none of them."""
    inbox = await box(synced)
    found = await synced.backend.search([inbox], All(), Page(25))
    assert [row.subject for row in found.rows] == expected(MANY - 1, 25)
    assert not found.coverage.complete
    assert found.coverage.order.startswith("provisional")


async def test_the_page_after_a_provisional_one_neither_skips_nor_doubles(synced: OnBridge) -> None:
    inbox = await box(synced)
    rows = await all_pages(synced, inbox, 400)
    assert len(rows) == MANY
    assert len({row.handle for row in rows}) == MANY
    dates = [row.received for row in rows[400:] if row.received]
    assert dates == sorted(dates, reverse=True)


async def test_mail_that_arrives_later_comes_first(synced: OnBridge) -> None:
    await newest(synced)
    await synced.put(Mail(letter("brand new"), DAY + timedelta(minutes=MANY + 5)))
    await synced.put(Mail(letter("restored from a backup"), DAY + timedelta(minutes=3, seconds=30)))
    assert [row.subject for row in await newest(synced, 3)] == ["brand new", *expected(MANY - 1, 2)]


async def test_the_date_index_is_built_once_and_extended(synced: OnBridge) -> None:
    inbox = await box(synced)
    await synced.backend.search([inbox], All(), Page(5))
    for _ in range(200):
        found = await synced.backend.search([inbox], All(), Page(5))
        if found.coverage.complete:
            break
        await asyncio.sleep(0.02)
    assert found.coverage.order == "newest first, by date received"
    await synced.put(Mail(letter("one more"), DAY + timedelta(minutes=MANY)))
    found = await synced.backend.search([inbox], All(), Page(5))
    assert (found.rows[0].subject, found.coverage.complete) == ("one more", True)


@pytest.mark.parametrize(
    ("field", "asked", "subject"),
    [
        (Field.SUBJECT, "GRÜSSE aus berlin", "Grüße aus Berlin"),
        (Field.BODY, "without a break", "Encoded"),
        (Field.BODY, "ZÜRICH", "Encoded"),
        (Field.TEXT, "grüße", "Grüße aus Berlin"),
        (Field.FROM, "anna@example.org", "number 1499"),
    ],
)
async def test_encoded_and_soft_broken_words_are_found(
    synced: OnBridge, field: Field, asked: str, subject: str
) -> None:
    """All of them missed these, and said nothing."""
    found = await synced.backend.search([await box(synced)], Contains(field, asked), Page(25))
    assert found.rows[0].subject == subject
    assert found.coverage.by_server == ()


async def test_a_header_search_never_uses_bridges_own(synced: OnBridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """B-03: Bridge's header and text search reads the whole mailbox, every time."""
    commands = spied(synced.backend, monkeypatch)  # type: ignore[arg-type]
    query = And((Contains(Field.SUBJECT, "number 7"), Contains(Field.BODY, "day"), Not(HasFlag("seen"))))
    found = await synced.backend.search([await box(synced)], query, Page(5))
    assert len(found.rows) == 5
    searches = [line for line in commands if b"SEARCH" in line]
    assert searches
    assert not [line for line in searches if re.search(rb"SUBJECT|FROM|TEXT|BODY|HEADER|SENT", line)]


def spied(backend: BridgeBackend, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every command the backend sends from now on, without its tag."""
    sent: list[bytes] = []
    original = Connection._enter

    def enter(self: Connection, ask: object, silence: float | None) -> object:
        sent.append(b"".join(piece for piece in ask.line if isinstance(piece, bytes)))  # type: ignore[attr-defined]
        return original(self, ask, silence)  # type: ignore[arg-type]

    monkeypatch.setattr(Connection, "_enter", enter)
    return sent


async def test_the_same_search_again_reads_no_header_again(synced: OnBridge, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = await box(synced)
    query = Contains(Field.SUBJECT, "number 77")
    first = await synced.backend.search([inbox], query, Page(50))
    commands = spied(synced.backend, monkeypatch)  # type: ignore[arg-type]
    again = await synced.backend.search([inbox], query, Page(50))
    assert [row.handle for row in again.rows] == [row.handle for row in first.rows]
    envelopes = [line for line in commands if b"ENVELOPE" in line]
    assert len(envelopes) == 1


async def test_a_search_that_runs_out_of_time_goes_on_where_it_stopped(synced: OnBridge) -> None:
    inbox = await box(synced)
    query = Contains(Field.BODY, "good day")
    rows: list[str] = []
    page = Page(2_000, budget=0.05)
    partial = 0
    for _ in range(500):
        found = await synced.backend.search([inbox], query, page)
        rows += [row.subject for row in found.rows]
        if found.continuation is None:
            break
        partial += 1
        assert not found.coverage.complete
        assert found.coverage.why
        page = Page(2_000, continuation=found.continuation, budget=0.05)
    assert partial > 1
    assert len(rows) == len(set(rows)) == MANY - 2


async def test_a_search_can_be_cancelled_and_the_account_goes_on(synced: OnBridge) -> None:
    inbox = await box(synced)
    searching = asyncio.create_task(synced.backend.search([inbox], Contains(Field.BODY, "nowhere"), Page(5)))
    await asyncio.sleep(0.1)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert len(await newest(synced, 5)) == 5


async def test_a_wrong_password_is_told_with_what_to_do(synced: OnBridge) -> None:
    """One of six answered with an empty mailbox."""
    backend = worlds.bridge_backend(synced.bridge.door, password="wrong")
    try:
        health = await backend.health()
        assert (health.connected, health.code) == (False, "auth_failed")
        assert health.why
        assert health.next
        assert "doctor" in health.next
        assert not _PATHS_AND_ADDRESSES.search(f"{health.why} {health.next}")
        with pytest.raises(AuthFailed):
            await backend.mailboxes()
    finally:
        await backend.aclose()


async def test_a_bridge_that_does_not_run_is_told_with_what_to_do(synced: OnBridge) -> None:
    await newest(synced, 1)
    await synced.bridge.network(on=False)
    await synced.backend.health()  # it may have found no more than the end of its connection
    health = await synced.backend.health()
    assert (health.connected, health.code) == (False, "connection_refused")
    assert health.next
    assert "Bridge" in health.next


async def test_after_a_restart_the_next_call_works_and_handles_hold(synced: OnBridge) -> None:
    """P-04."""
    (row,) = await newest(synced, 1)
    await synced.bridge.restart()
    assert [one.handle for one in await synced.backend.envelopes([row.handle])] == [row.handle]


async def test_a_changed_uidvalidity_makes_old_handles_stale(synced: OnBridge) -> None:
    """Four of five let the old id hit another message."""
    (row,) = await newest(synced, 1)
    synced.bridge.repair()
    with pytest.raises(Stale):
        await synced.backend.structure(row.handle)
    (fate,) = await synced.backend.set_flags([row.handle], FlagChange(add=frozenset({"flagged"})))
    assert fate.code == "stale_handle"
    totals = {one.role: one.total for one in await synced.backend.mailboxes(counts=True, fresh=True)}
    assert totals[Role.STARRED] == 0
    assert (await newest(synced, 1))[0].subject == row.subject


async def test_a_resync_under_an_open_session_is_noticed(simulated: Bridge) -> None:
    """Bridge lets an open session go on with dead UIDs and says nothing."""
    (row,) = await newest(simulated, 1)
    simulated.simulator.resync()
    with pytest.raises(Stale):
        await simulated.backend.structure(row.handle)


async def test_a_refused_command_shows_nothing_of_bridges_insides(synced: OnBridge) -> None:
    (row,) = await newest(synced, 1)
    synced.bridge.empty_cache()
    synced.bridge.refuse_calls("/mail/v4/messages", count=-1, message="at /home/me/.cache https://api.example/")
    with pytest.raises(MailError) as fault:
        async for _ in synced.backend.fetch(row.handle):
            pass
    assert not _PATHS_AND_ADDRESSES.search(f"{fault.value.message} {fault.value.next}")


async def test_the_account_tells_bridges_version_and_what_it_was_recorded_with(synced: OnBridge) -> None:
    health = await synced.backend.health()
    assert (health.version, health.mode, health.syncing) == ("3.21.1", None, None)
    assert "MOVE" in health.capabilities
    assert synced.backend.features()["labels"] is Standing.AVAILABLE


async def test_a_first_sync_under_way_is_noticed(mailbox: Sequence[GivenMessage]) -> None:
    async with worlds.bridge(mailbox, first_sync=400.0) as world:
        assert (await world.backend.health()).syncing is True


async def test_counts_leave_out_all_mail_unless_asked_and_never_ask_nodes(
    synced: OnBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = spied(synced.backend, monkeypatch)  # type: ignore[arg-type]
    boxes = await synced.backend.mailboxes(counts=True)
    totals = {one.role: one.total for one in boxes}
    assert totals[Role.INBOX] == MANY
    assert totals[Role.ALL] is None
    assert totals[Role.NODE] is None
    assert not [line for line in commands if line.startswith((b'STATUS "Folders" ', b'STATUS "Labels" '))]
    fresh = {one.role: one.total for one in await synced.backend.mailboxes(counts=True, fresh=True)}
    assert fresh[Role.ALL] == MANY


async def test_a_listing_costs_the_same_round_trips_in_a_large_mailbox_as_in_a_small_one(
    synced: OnBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worlds.bridge([worlds.given(letter(number=number), number) for number in range(100)]) as small:
        costs = []
        for world in (small, synced):
            inbox = await box(world)
            await world.backend.unsettled()  # the look at the sync, which the first list of a run would bring
            commands = spied(world.backend, monkeypatch)  # type: ignore[arg-type]
            await world.backend.search([inbox], All(), Page(50))
            costs.append(len([line for line in commands if not line.startswith((b"LOGIN", b"ID", b"CAPABILITY"))]))
            monkeypatch.undo()
    assert costs[1] <= costs[0] + 1


async def test_an_unreachable_network_is_unavailable_and_comes_back(synced: OnBridge) -> None:
    await newest(synced, 1)
    await synced.bridge.network(on=False)
    with pytest.raises(Unavailable):
        await newest(synced, 1)
    await synced.bridge.network(on=True)
    for _ in range(100):  # the pause between two attempts to connect
        if (await synced.backend.health()).connected:
            break
        await asyncio.sleep(0.1)
    assert len(await newest(synced, 1)) == 1
