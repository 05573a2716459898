"""The compact profile: every operation behind a few grouped tools."""

from __future__ import annotations

import json

import pytest
from fastmcp import Client

from mcp_proton.domain.caller import Audience
from mcp_proton.mcp.profiles import Profile
from mcp_proton.policy.presets import Preset

from .world import Lab, policy

EVERYTHING = policy(Preset.AUTONOMOUS)


async def call(lab: Lab, tool: str, arguments: dict):
    async with Client(lab.server(Profile.COMPACT)) as client:
        return await client.call_tool(tool, arguments, raise_on_error=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": "messages_list", "arguments": {"limit": 2}},
        {"operation": "messages_list", "arguments": '{"limit": 2}'},
        {"operation": "messages_list", "limit": 2},
        {"operation": "messages_list", "arguments": {}, "limit": "2", "describe": False},
    ],
)
async def test_arguments_are_found_wherever_a_model_puts_them(arguments):
    told = await call(Lab(), "mail_read", arguments)
    assert len(told.structured_content["messages"]) == 2
    assert json.loads(told.content[0].text) == told.structured_content


async def test_an_operation_is_described_on_request_and_nothing_is_done():
    lab = Lab()
    told = await call(lab, "mail_read", {"operation": "messages_search", "describe": True})
    assert told.structured_content["operation"] == "messages_search"
    assert told.structured_content["arguments"]["properties"]["order"]["enum"] == ["newest", "oldest"]
    assert "from:anna" in told.structured_content["description"]
    assert not lab.account.calls


async def test_every_operation_can_be_called_through_the_tool_that_lists_it():
    lab = Lab(EVERYTHING)
    async with Client(lab.server(Profile.COMPACT)) as client:
        for tool in await client.list_tools():
            for name in tool.input_schema["properties"]["operation"]["enum"]:
                example = lab.service.world.catalog.by_name[name].example
                told = await client.call_tool(
                    tool.name, {"operation": name, "arguments": example}, raise_on_error=False
                )
                assert not told.is_error, name
                answer = told.structured_content
                not_here = answer.get("code") in {"out_of_bounds", "links_need_http", "not_on_this_server"}
                assert not_here or answer["status"] in {"ok", "stale", "not_found", "approval_pending"}


async def test_an_operation_of_another_group_is_pointed_to_and_not_done():
    lab = Lab(EVERYTHING)
    told = await call(
        lab, "mail_read", {"operation": "attachments_save", "arguments": {"message": lab.handles[0], "index": 1}}
    )
    assert not told.is_error
    assert "`mail_organize`" in told.structured_content["next"]
    assert not lab.artifacts.kept


async def test_reading_that_marks_as_read_belongs_to_organizing():
    lab = Lab(EVERYTHING)
    asked = {"operation": "messages_get", "arguments": {"message": lab.handles[0], "mark_read": True}}
    told = await call(lab, "mail_read", asked)
    assert told.structured_content["status"] == "refused"
    assert "set_flags" not in lab.account.calls
    told = await call(lab, "mail_organize", asked)
    assert told.structured_content["marked_read"] is True


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({}, "`operation` is missing"),
        ({"operation": "message_list"}, "did you mean `messages_list`?"),
        ({"operation": "messages_list", "arguments": "SECRETVALUE"}, "`arguments` must be an object"),
        ({"operation": "messages_list", "arguments": {"limits": "SECRETVALUE"}}, "did you mean `limit`?"),
    ],
)
async def test_a_malformed_call_says_what_is_wrong_without_the_value(arguments, word):
    told = await call(Lab(), "mail_read", arguments)
    assert told.is_error
    assert word in told.structured_content["why"]
    assert "SECRETVALUE" not in told.content[0].text


async def test_a_reader_sees_neither_organizing_nor_its_operations_and_is_refused_by_the_door():
    lab = Lab(policy(Preset.READER))
    async with Client(lab.server(Profile.COMPACT)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["mail_read", "operations"]
        asked = {"operation": "attachments_save", "arguments": {"message": lab.handles[0], "index": 1}}
        told = await client.call_tool("mail_organize", asked)
    assert told.structured_content["code"] == "policy_denied"


async def test_the_owners_powers_cannot_be_reached():
    lab = Lab(EVERYTHING)
    agents = {one.name for one in lab.service.world.catalog.for_audience(Audience.AGENT)}
    for definition in lab.service.world.catalog:
        if definition.name not in agents:
            told = await call(lab, "operations", {"operation": definition.name, "arguments": definition.example})
            assert told.is_error
