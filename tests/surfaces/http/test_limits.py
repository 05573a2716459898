"""Limits over HTTP: each refusal says when to come back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

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
