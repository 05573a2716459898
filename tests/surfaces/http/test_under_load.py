"""Many clients at once, calls given up in the middle, and a service that is killed: nothing acts twice, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from tests.surfaces.cli.lab import Bridge
from tests.surfaces.mcp.world import ERAS

from .process import PATIENCE, Service
from .speaking import Raw
from .test_connect import connector

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.surfaces.cli.lab import Owner

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]
CLIENTS = ("one", "two", "three", "four")
SENT = "Sent under load"
ENDS = "SELECT status FROM records WHERE operation = 'mail_send'"
TWICE = (
    "SELECT digest FROM records WHERE operation IN ('messages_move', 'mail_send') GROUP BY digest HAVING count(*) > 1"
)
IN_THE_MIDDLE = "SELECT operation FROM records WHERE status = 'executing'"
NO_LIMITS = {"MCP_PROTON_READS_PER_MINUTE": "0", "MCP_PROTON_WRITES_PER_MINUTE": "0"}


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_given_up_stops_in_the_service_and_the_client_goes_on(owner: Owner, era: str) -> None:
    """J-130: the audit line says how it ended."""
    with Bridge() as own:
        owner.connect(own)
        token = owner.json("clients", "rotate", "hermes")["token"]
        with Service("--listen", "127.0.0.1:0", home=owner.home) as service:
            async with Client(StreamableHttpTransport(service.url, auth=token), mode=era) as client:
                await client.list_tools()
                own.call(lambda simulator: simulator.faults.at("before UID FETCH", action="delay", seconds=600.0))
                call = asyncio.ensure_future(client.call_tool("messages_list", {"limit": 1}))
                await asyncio.to_thread(wait_until, lambda: not own.simulator.faults.steps)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                assert "messages_list" in await asyncio.to_thread(service.said, r"(method=\S+ outcome=cancelled)")
                told = await client.call_tool("messages_list", {"limit": 1})
                assert told.structured_content["status"] == "ok"


async def test_many_clients_at_once_each_get_their_own_answers(owner: Owner, serving: Service) -> None:
    """P-03: over one pool of connections."""
    tokens = {name: owner.json("clients", "add", name, "--token")["token"] for name in CLIENTS}

    async def use(name: str) -> set[str]:
        transport = StreamableHttpTransport(serving.url, auth=tokens[name])
        async with Client(transport, mode=ERAS[len(name) % 2]) as client:
            answers = [client.call_tool("messages_list", {"limit": 5}) for _ in range(10)]
            return {json.dumps(one.structured_content) for one in await asyncio.gather(*answers)}

    assert len(set.union(*await asyncio.gather(*map(use, CLIENTS)))) == 1


def test_a_service_killed_under_load_does_nothing_twice_and_loses_nothing(owner: Owner) -> None:
    """P-37, P-61: four clients file and send through their connectors while the service is killed and started again.

    It is killed when a mail of theirs has left and nobody knows yet. What a connector could not see the end of it says is
    unsure. Every client goes on; no request reaches the journal twice, no mail leaves twice though the server would let
    it, every message is in exactly one place, and what was told as done is done.
    """
    with Bridge() as own:
        owner.connect(own, preset="autonomous")
        own.call(lambda simulator: setattr(simulator.settings, "suppresses_repeats", False))
        tokens = {name: owner.json("clients", "add", name, "--token")["token"] for name in CLIENTS}
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=NO_LIMITS) as first:
            port, url = first.port, first.url
            with Raw(url, tokens["one"]) as raw:
                listed = _listed(raw, "inbox")
                before = _subjects(raw, "inbox") + _subjects(raw, "archive")
            shares = {name: _acts(name, own.username, listed[at :: len(CLIENTS)]) for at, name in enumerate(CLIENTS)}
            told: dict[str, str] = {}
            clients = [
                threading.Thread(target=_work, args=(url, tokens[name], shares[name], told), daemon=True)
                for name in CLIENTS
            ]
            own.call(lambda simulator: simulator.faults.at("after acceptance", 3, action="delay", seconds=600.0))
            for one in clients:
                one.start()
            wait_until(lambda: not own.simulator.faults.steps)
            first.process.kill()
            first.ended()
            begun, left = _rows(owner, IN_THE_MIDDLE), {name: set(acts) - set(told) for name, acts in shares.items()}
            with Service("--listen", f"127.0.0.1:{port}", home=owner.home, more=NO_LIMITS):
                for one in clients:
                    one.join(120)
                with Raw(url, tokens["one"]) as raw:
                    own.call(lambda simulator: simulator.release_events())
                    wait_until(lambda: _subjects(raw, "inbox") + _subjects(raw, "archive") == before)
                    archive = _subjects(raw, "archive")
                wait_until(lambda: _known(owner, own) == len(own.simulator.sent))
        assert "mail_send" in {operation for (operation,) in begun}, "it was killed in the middle"
        assert all(left.values()), "every client went on afterwards"
        assert set(told) == set().union(*shares.values())
        assert set(told.values()) <= {"ok", "unsure", "stale", "unavailable", "conflict"}, told
        done = {act for act, status in told.items() if status == "ok"}
        assert Counter(one["subject"] for one in listed if one["handle"] in done) <= archive
        sent = Counter(one.subject for one in own.simulator.sent)
        assert set(sent.values()) == {1}, "no mail left twice"
        assert {act for act in done if act.startswith(SENT)} <= set(sent)
        assert any(told[subject] == "unsure" for subject in sent), "one left that nobody had heard of"
        assert _rows(owner, TWICE) == [], "no request came in twice"


def _acts(client: str, address: str, listed: list[dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """What a client does, by turns: a message is filed, a mail is sent."""
    acts: dict[str, tuple[str, dict[str, Any]]] = {}
    for number, one in enumerate(listed):
        acts[one["handle"]] = ("messages_archive", {"messages": [one["handle"]]})
        subject = f"{SENT} {client} {number}"
        acts[subject] = ("mail_send", {"to": [address], "subject": subject, "text": "Once."})
    return acts


def _work(url: str, token: str, acts: dict[str, tuple[str, dict[str, Any]]], told: dict[str, str]) -> None:
    with connector(url, token) as client:
        client.shake()
        for number, (act, (tool, arguments)) in enumerate(acts.items(), start=10):
            client.send("tools/call", number, name=tool, arguments=arguments)
            answer = client.heard(number)
            told[act] = answer["result"]["structuredContent"]["status"] if "result" in answer else str(answer)


def _known(owner: Owner, bridge: Bridge) -> int:
    """How many mails are known to have left, now that Bridge shows what it knows."""
    bridge.call(lambda simulator: simulator.release_events())
    return Counter(_rows(owner, ENDS))[("succeeded",)]


def _rows(owner: Owner, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(owner.folders.database)) as store:
        return store.execute(question).fetchall()


def _subjects(raw: Raw, mailbox: str) -> Counter[str]:
    return Counter(one["subject"] for one in _listed(raw, mailbox) if not one["subject"].startswith(SENT))


def _listed(raw: Raw, mailbox: str) -> list[dict[str, Any]]:
    told = _told(raw.call("messages_list", mailbox=mailbox, limit=50).text)
    assert told["status"] == "ok", told
    return told.get("messages", [])


def _told(text: str) -> dict[str, Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith(("data: {", "{"))]
    return json.loads(lines[-1])["result"]["structuredContent"]
