"""A sealed state of a question to the owner, shown again: by another client, for something else, after the owner said no."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton import bootstrap
from mcp_proton.mcp import reviewing

from .inside import Inside
from .speaking import MODERN, Raw

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process
_ASKING = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
_YES = {"approve": {"action": "accept", "content": {"approve": True}}}


class Slow:
    """A clock by which the owner always took a minute to read."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        self.at += 60.0
        return self.at


def call(raw: Raw, handle: str, **more: Any) -> dict[str, Any]:
    arguments = {"messages": [handle], "add": ["flagged"]}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "messages_flag"}
    params = {"name": "messages_flag", "arguments": arguments, "_meta": _ASKING, **more}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answered = raw.http.post(raw.url, json=body, headers=headers)
    assert answered.status_code < 500, answered.text
    return raw_json(answered.text)


def raw_json(text: str) -> dict[str, Any]:
    line = next((line[5:] for line in text.splitlines() if line.startswith("data:")), text)
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


async def checked(client: str) -> None:
    """As if the client had passed its live check."""
    async with bootstrap.switched(bootstrap.settings(os.environ)) as (_, channels):
        await channels.answered(client, passed=True)


async def test_a_state_is_good_for_its_client_its_call_and_as_long_as_the_owner_has_not_answered(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-39, P-41: whoever replays one gets a refusal or the operation as it stands, and nothing is done."""
    monkeypatch.setattr(reviewing, "time", Slow())
    owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "organize"\nverdict = "ask"\n')
    tokens = {"hermes": owner.json("clients", "rotate", "hermes")["token"]}
    tokens["other"] = owner.json("clients", "add", "other", "--token")["token"]
    text = owner.folders.config_file.read_text()
    for name in tokens:
        text = text.replace(f"[clients.{name}]\n", f"[clients.{name}]\nreview = true\n")
    owner.write_config(text)
    for name in tokens:
        await checked(name)
    with (
        Inside(owner.home) as service,
        Raw(service.url, tokens["hermes"]) as mine,
        Raw(service.url, tokens["other"]) as theirs,
    ):
        listed = raw_json(mine.call("messages_list", limit=2).text)["result"]["structuredContent"]["messages"]
        handle, another = (one["handle"] for one in listed)
        asked = call(mine, handle)["result"]
        assert asked["resultType"] == "input_required", asked
        state = asked["requestState"]
        replayed = {"requestState": state, "inputResponses": _YES}
        tampered = {**replayed, "requestState": state[:-4] + ("AAAA" if state[-4:] != "AAAA" else "BBBB")}
        for who, about, more in ((theirs, handle, replayed), (mine, another, replayed), (mine, handle, tampered)):
            assert "error" in call(who, about, **more)
        unasked = call(theirs, handle, inputResponses=_YES)["result"]
        assert unasked["resultType"] == "input_required"
        waiting = owner.json("approvals", "list")["operations"]
        assert len(waiting) == 2
        for one in waiting:
            assert owner.run("approvals", "deny", one["operation_id"]).code == 0
        for _ in range(2):
            told = call(mine, handle, **replayed)["result"]["structuredContent"]
            assert (told["status"], told["code"]) == ("refused", "approval_denied")
        now = raw_json(mine.call("messages_list", limit=2).text)["result"]["structuredContent"]["messages"]
        assert now == listed
