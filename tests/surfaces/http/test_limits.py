"""Limits over HTTP: each refusal says when to come back."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from typing import TYPE_CHECKING

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from mcp_proton.mcp.http import app, wire
from mcp_proton.mcp.http.running import Server

from .process import Service
from .speaking import Raw, session

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process


async def test_a_clients_reads_and_changes_are_limited_each(owner: Owner) -> None:
    """J-100: for each client by itself, in both eras alike."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    other = owner.json("clients", "add", "other", "--token")["token"]
    limits = {"MCP_PROTON_READS_PER_MINUTE": "3", "MCP_PROTON_WRITES_PER_MINUTE": "1"}
    with Service("--listen", "127.0.0.1:0", home=owner.home, more=limits) as service:
        with Raw(service.url, token) as raw:
            for _ in range(3):
                assert '"status":"ok"' in raw.call("messages_list", limit=1).text
        async with session(service.url, token) as client:
            told = (await client.call_tool("messages_list", {"limit": 1})).structured_content
            assert (told["status"], told["code"]) == ("refused", "rate_limited")
            assert re.fullmatch(r"try again in \d+ s", told["next"])
            read = (await client.read_resource("mail://personal/mailboxes")).contents[0].text
            assert "rate_limited" in read
            changed = [(await client.call_tool("operations_resume", {"operation_id": f"op_{'a' * 16}"})) for _ in "ab"]
            assert [one.structured_content["status"] for one in changed] == ["not_found", "refused"]
        with Raw(service.url, other) as raw:
            assert '"status":"ok"' in raw.call("messages_list", limit=1).text


def test_sessions_opened_in_a_row_are_limited(owner: Owner, serving: Service) -> None:
    """J-101: a burst of 32, then 429 with Retry-After and -32029."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    other = owner.json("clients", "add", "other", "--token")["token"]
    with Raw(serving.url, token) as raw:
        answers = [raw.post("initialize", protocolVersion="x", capabilities={}, clientInfo={}) for _ in range(33)]
        assert {one.status_code for one in answers[:32]} <= {200, 400}
        refused = answers[32]
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert refused.json()["error"]["code"] == -32029
        assert raw.call("messages_list", limit=1).status_code == 200, "what needs no session goes on"
    with Raw(serving.url, other) as raw:
        assert raw.shake().status_code == 200


def test_no_client_takes_all_sessions(owner: Owner) -> None:
    """J-102."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    other = owner.json("clients", "add", "other", "--token")["token"]
    with Service("--listen", "127.0.0.1:0", home=owner.home, more={"MCP_PROTON_SESSIONS": "4"}) as service:
        with Raw(service.url, token) as raw:
            opened = [(raw.shake().status_code, raw.session) for _ in range(4)]
            assert [status for status, _ in opened] == [200, 200, 200, 429]
            raw.session = opened[0][1]
            assert raw.http.delete(raw.url, headers={"Mcp-Session-Id": str(raw.session)}).status_code == 200
            raw.session = None
            assert raw.shake().status_code == 200
        with Raw(service.url, other) as raw:
            assert raw.shake().status_code == 200


def test_a_call_that_makes_no_sense_is_counted_and_written_down(owner: Owner) -> None:
    """J-100, J-130: a program that loops on wrong arguments is told to wait, and the owner sees it."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    more = {"MCP_PROTON_READS_PER_MINUTE": "4", "MCP_PROTON_LOG_FORMAT": "json"}
    with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
        with Raw(service.url, token) as raw:
            raw.shake()
            told = [
                raw.call("messages_list", limit="canary-many").text,
                raw.call("messages_get", message="canary").text,
                raw.call("canary_tool").text,
            ]
            assert raw.post("resources/read", uri="mail://a/b/c/d/e/canary").status_code == 200
            told.append(raw.call("messages_list", bogus="canary").text)
        codes = [re.findall(r'\\"code\\":\\"(\w+)', one)[0] for one in told]
        assert codes == ["invalid_arguments", "invalid_arguments", "no_such_tool", "rate_limited"]
        assert service.end() == 0
    assert "canary" not in service.output
    lines = [one for one in map(json.loads, service.output.splitlines()) if one["event"] == "call"]
    assert [(one["method"], one["error_class"]) for one in lines] == [
        ("messages_list", "invalid_arguments"),
        ("messages_get", "invalid_arguments"),
        ("none", "no_such_tool"),
        ("none", "not_found"),
        ("messages_list", "rate_limited"),
    ]


def test_strangers_of_one_address_are_told_to_wait(owner: Owner) -> None:
    """J-106: counted by the address that the owner's proxy saw; a good token of the same address goes on."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    more = {"MCP_PROTON_TRUSTED_PROXIES": "127.0.0.1"}
    with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service, Raw(service.url) as raw:

        def knock(forwarded: str) -> httpx2.Response:
            return raw.http.post(raw.url, json={}, headers={"X-Forwarded-For": forwarded})

        # A slow machine gives so much time that some are told after all: it is knocked until one is not.
        told = [knock(f"1.1.1.{number % 200}, 198.51.100.9") for number in range(app.STRANGERS_PER_MINUTE)]
        assert {one.status_code for one in told} == {401}
        more_knocks = (knock(f"1.1.1.{number % 200}, 198.51.100.9") for number in range(5_000))
        limited = next(one for one in more_knocks if one.status_code == 429)
        assert int(limited.headers["retry-after"]) >= 1
        assert knock("198.51.100.10").status_code == 401
        with Raw(service.url, token) as good:
            good.http.headers["X-Forwarded-For"] = "198.51.100.9"
            assert good.shake().status_code == 200


async def test_one_connection_too_many_is_told_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """J-102: 503 with Retry-After, and the connection ends; those that are in go on."""
    monkeypatch.setattr(wire, "CONNECTIONS", 2)
    server = Server(PlainTextResponse("fine"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server.serve([listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        async with (
            httpx2.AsyncClient(trust_env=False) as one,
            httpx2.AsyncClient(trust_env=False) as two,
            httpx2.AsyncClient(trust_env=False) as three,
        ):
            while not server.started:
                await asyncio.sleep(0.01)
            assert [(await each.get(url)).status_code for each in (one, two)] == [200, 200]
            refused = await three.get(url)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "2"
            assert refused.headers["connection"] == "close"
            assert (await one.get(url)).status_code == 200
        server.should_exit = True
        await task
