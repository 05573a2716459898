"""The limits before the door: how often, how many at once, how long (J-100)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastmcp.server.http import set_http_request
from starlette.requests import Request

from mcp_proton.config.tables import Service
from mcp_proton.domain.errors import Ambiguous, OverLimit, Unavailable
from mcp_proton.domain.outcome import Outcome
from mcp_proton.mcp.http.bearers import Bearer
from mcp_proton.mcp.http.limits import Limits, may_change
from mcp_proton.mcp.identity import agent
from mcp_proton.services.door.registry import load

CATALOG = load().by_name
READ, WRITE = CATALOG["messages_list"], CATALOG["messages_flag"]


def example(definition):
    return definition.request.model_validate(definition.example)


async def done() -> Outcome:
    return Outcome(status="ok")


async def for_ever() -> Outcome:
    await asyncio.sleep(3600)
    raise AssertionError


def test_reads_and_changes_are_told_apart():
    changes = {name for name, one in CATALOG.items() if may_change(one, example(one))}
    assert {"messages_flag", "messages_trash", "operations_resume", "operations_undo", "attachments_save"} <= changes
    assert not {"messages_list", "messages_get", "operations_status", "accounts_health"} & changes


async def test_reads_and_writes_are_counted_apart_and_by_client():
    """J-100."""
    limits = Limits(Service(reads_per_minute=2, writes_per_minute=1))
    await limits(agent("hermes"), READ, example(READ), done)
    await limits(agent("hermes"), READ, example(READ), done)
    await limits(agent("hermes"), WRITE, example(WRITE), done)
    for definition in (READ, WRITE):
        with pytest.raises(OverLimit) as raised:
            await limits(agent("hermes"), definition, example(definition), done)
        assert raised.value.code == "rate_limited"
        assert raised.value.next.startswith("try again in ")
        await limits(agent("goose"), definition, example(definition), done)


@contextmanager
def shown_by(client: str, subject: str) -> Iterator[None]:
    """A request of a client, for which something vouches."""
    bearer = Bearer(client, subject, "0" * 16)
    with set_http_request(Request({"type": "http", "headers": [], "state": {"bearer": bearer}})):
        yield


async def test_who_vouches_for_several_clients_has_one_share_for_all_of_them():
    """J-100: what the owner moves to another client's name in the middle of a minute brings no second share."""
    limits = Limits(Service(reads_per_minute=2))
    for client in ("hermes", "goose"):
        with shown_by(client, "subject anna"):
            await limits(agent(client), READ, example(READ), done)
    with shown_by("goose", "subject anna"), pytest.raises(OverLimit):
        await limits(agent("goose"), READ, example(READ), done)
    with shown_by("goose", "subject ben"):
        await limits(agent("goose"), READ, example(READ), done)


async def test_one_client_with_many_calls_waits_behind_everybody_elses_first():
    limits = Limits(Service(calls_at_once=1, reads_per_minute=0))
    order: list[str] = []
    release = asyncio.Event()

    def call(client: str) -> asyncio.Task[Outcome]:
        async def work() -> Outcome:
            order.append(client)
            await release.wait()
            return Outcome(status="ok")

        return asyncio.ensure_future(limits(agent(client), READ, example(READ), work))

    calls = [call("greedy") for _ in range(20)]
    await asyncio.sleep(0)
    calls += [call("modest"), call("shy")]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*calls)
    assert order[0] == "greedy"
    assert {"modest", "shy"} <= set(order[1:4])
    assert limits.turns.taken == 0


async def test_what_waits_is_bounded_and_giving_up_costs_nobody_a_turn():
    limits = Limits(Service(calls_at_once=1, reads_per_minute=0))
    calls = [asyncio.ensure_future(limits(agent("greedy"), READ, example(READ), for_ever)) for _ in range(65)]
    await asyncio.sleep(0.01)
    with pytest.raises(OverLimit) as raised:
        await limits(agent("greedy"), READ, example(READ), done)
    assert raised.value.code == "busy"
    for one in calls:
        one.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (await limits(agent("greedy"), READ, example(READ), done)).status == "ok"


@pytest.mark.parametrize(("definition", "kind"), [(READ, Unavailable), (WRITE, Ambiguous)])
async def test_what_takes_too_long_is_stopped_and_told_as_it_is(definition, kind):
    """A-80: nothing was changed by a read; of a change nobody knows."""
    limits = Limits(Service(call_seconds=1))
    stopped = asyncio.Event()

    async def slow() -> Outcome:
        try:
            return await for_ever()
        finally:
            stopped.set()

    with pytest.raises(kind) as raised:
        await limits(agent("hermes"), definition, example(definition), slow)
    assert raised.value.code == "deadline_exceeded"
    assert stopped.is_set()


async def test_a_change_that_never_got_its_turn_has_changed_nothing():
    limits = Limits(Service(calls_at_once=1, call_seconds=1))
    await limits.turns.take("somebody")
    with pytest.raises(Unavailable) as raised:
        await limits(agent("hermes"), WRITE, example(WRITE), for_ever)
    assert raised.value.code == "deadline_exceeded"
    assert raised.value.status == "unavailable"
