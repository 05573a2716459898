"""Who calls: what the owner named the client, and nothing that the client says (P-41)."""

from __future__ import annotations

import os

import mcp_types
import pytest
from fastmcp import Client

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.errors import Invalid
from mcp_proton.mcp.environment import settle
from mcp_proton.mcp.identity import UNNAMED, VARIABLE, agent, label
from mcp_proton.mcp.server import build

from .world import Lab


@pytest.mark.parametrize(
    ("argument", "environ", "known", "expected"),
    [
        ("hermes", {VARIABLE: "goose"}, ("codex",), "hermes"),
        (None, {VARIABLE: "goose"}, ("codex",), "goose"),
        (None, {}, ("codex",), "codex"),
        (None, {}, ("codex", "goose"), UNNAMED),
        (None, {}, (), UNNAMED),
    ],
)
def test_the_label_comes_from_the_owner(argument, environ, known, expected):
    assert label(argument, environ, known) == expected


@pytest.mark.parametrize("wrong", ["a b", "../x", "x" * 65, "-x", "a\nb"])
def test_what_cannot_be_a_label_is_refused_without_repeating_it(wrong):
    with pytest.raises(Invalid) as raised:
        label(wrong, {})
    assert wrong not in raised.value.message


def test_a_pipe_is_never_the_owner():
    assert agent("owner").audience is Audience.AGENT
    assert not agent("owner").is_owner


@pytest.mark.parametrize("name", [UNNAMED, "owner", "goose"])
async def test_a_client_the_owner_does_not_know_is_refused_whatever_it_calls_itself(name):
    lab = Lab()
    info = mcp_types.Implementation(name="hermes", version="1")
    async with Client(build(lab.service, agent(name)), client_info=info) as client:
        told = await client.call_tool("messages_list", {})
        assert told.structured_content["status"] == "refused"
        assert name in told.structured_content["why"]
        assert await client.list_tools()  # so that the refusal can be had at all
    assert "search" not in lab.account.calls


def test_no_setting_of_the_machine_reaches_the_framework():
    """P-86."""
    environ = {"FASTMCP_LOG_LEVEL": "DEBUG", "fastmcp_telemetry_mode": "native", "HOME": "/home/x"}
    settle(environ)
    assert environ["HOME"] == "/home/x"
    assert environ["FASTMCP_TELEMETRY_MODE"] == "off"
    assert environ["FASTMCP_ENV_FILE"] == os.devnull
    assert "FASTMCP_LOG_LEVEL" not in environ
    assert "fastmcp_telemetry_mode" not in environ
