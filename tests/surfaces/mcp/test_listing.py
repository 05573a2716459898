"""What a client is shown: which tools, in how many tokens, with which hints, and what a caller's rules hide."""

from __future__ import annotations

import json
import re

import pytest
from fastmcp import Client

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.effects import DESTRUCTIVE, READING, Effect
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.mcp import profiles
from mcp_proton.mcp.grouped import GROUPS, grouped
from mcp_proton.mcp.profiles import TOKENS, Profile
from mcp_proton.mcp.tools import Offer
from mcp_proton.policy.presets import Preset
from mcp_proton.policy.rules import Place, Rule, Verdict
from mcp_proton.services.door.registry import primitive

from .counting import tokens
from .world import CLIENT, ERAS, Lab, policy, rule

FIGURES = {Profile.READER: 990, Profile.CORE: 2773, Profile.FULL: 6508, Profile.COMPACT: 2127}
"""What the listings cost today. They may grow by 1 %; whoever adds an operation writes down the new figure."""
EVERYTHING = policy(Preset.AUTONOMOUS)


async def listed(lab: Lab, profile: Profile = Profile.CORE, era: str = "legacy"):
    async with Client(lab.server(profile), mode=era) as client:
        return {tool.name: tool for tool in await client.list_tools()}


@pytest.mark.parametrize("profile", Profile)
async def test_a_listing_costs_what_it_did_and_stays_below_its_ceiling(profile):
    """N-11, A-85: the token ceilings, counted with o200k over name, description and input schema; and what it costs today."""
    counted = tokens((await listed(Lab(EVERYTHING), profile)).values())
    assert counted <= TOKENS[profile]
    assert 0.9 * FIGURES[profile] <= counted <= 1.01 * FIGURES[profile], counted


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("profile", Profile)
async def test_both_eras_list_the_same_tools(profile, era):
    """P-80, P-85."""
    lab = Lab(EVERYTHING)
    assert list(await listed(lab, profile, era)) == list(await listed(lab, profile))


async def test_core_has_at_most_25_tools_and_every_one_of_them_exists():
    tools = await listed(Lab(EVERYTHING))
    assert set(tools) == set(profiles.CORE)
    assert len(tools) <= 25


async def test_full_and_compact_hold_every_operation_an_agent_may_have():
    lab = Lab(EVERYTHING)
    names = {one.name for one in lab.service.world.catalog.for_audience(Audience.AGENT)}
    assert set(await listed(lab, Profile.FULL)) == names
    compact = await listed(lab, Profile.COMPACT)
    assert {name for tool in compact.values() for name in tool.input_schema["properties"]["operation"]["enum"]} == names


async def test_the_owners_powers_are_in_no_profile():
    """P-19, P-41."""
    lab = Lab(EVERYTHING)
    owners = {one.name for one in lab.service.world.catalog if primitive(one).audience is Audience.OWNER}
    assert owners
    for profile in Profile:
        assert not owners & set(profiles.offers(profile, lab.service.world.catalog))


@pytest.mark.parametrize("profile", Profile)
async def test_the_first_sentence_of_a_description_has_at_most_60_characters(profile):
    """Deferred tool lists show no more of it."""
    for tool in (await listed(Lab(EVERYTHING), profile)).values():
        first = re.split(r"(?<=\.)\s", tool.description)[0]
        assert 0 < len(first) <= 60, tool.name


@pytest.mark.parametrize("profile", Profile)
async def test_schemas_are_flat_closed_and_without_noise(profile):
    """P-81."""
    for tool in (await listed(Lab(EVERYTHING), profile)).values():
        text = json.dumps(tool.input_schema)
        for noise in ("$ref", "$defs", '"title"', '"null"', "anyOf", '"default": null', '"default": false', "pattern"):
            assert noise not in text, tool.name
        assert tool.input_schema["type"] == "object"
        if profile is not Profile.COMPACT:
            assert tool.input_schema["additionalProperties"] is False


async def test_the_wire_carries_no_made_up_title_and_no_empty_meta():
    for tool in (await listed(Lab(EVERYTHING))).values():
        assert tool.title is None
        assert not tool.meta
        assert tool.output_schema is None


def hints(tool) -> tuple[bool, bool, bool, bool]:
    shown = tool.annotations
    return shown.read_only_hint, shown.destructive_hint, shown.idempotent_hint, shown.open_world_hint


async def test_hints_are_read_off_effects():
    """P-81."""
    tools = await listed(Lab(EVERYTHING), Profile.FULL)
    assert hints(tools["messages_search"]) == (True, False, True, False)
    assert hints(tools["attachments_save"]) == (False, False, False, False)
    assert hints(tools["messages_move"]) == (False, True, False, False)  # the table decides whether it destroys
    assert hints(tools["messages_star"]) == (False, False, True, False)
    assert hints(tools["messages_destroy"]) == (False, True, False, False)
    assert hints(tools["operations_status"]) == (True, False, True, False)
    assert hints(tools["messages_get"]) == (False, False, True, False)  # it can mark as read
    assert hints(tools["operations_resume"]) == (False, True, False, True)  # whatever was approved


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ({Effect.SEND}, (False, False, False, True)),
        ({Effect.DESTROY, Effect.READ}, (False, True, False, False)),
        ({Effect.READ, Effect.LIST}, (True, False, True, False)),
    ],
)
def test_hints_of_effects_that_no_operation_has_yet(effects, expected):
    class Made(Request):
        """Do it."""

    made = Operation(request=Made, result=Result, effects=frozenset(effects), perform=_nothing, example={})
    shown = Offer(made).annotations(frozenset(Effect))
    assert (shown.read_only_hint, shown.destructive_hint, shown.idempotent_hint, shown.open_world_hint) == expected


async def _nothing(request, ctx):
    return Result()


@pytest.mark.parametrize("profile", [Profile.READER, Profile.COMPACT])
async def test_what_says_that_it_only_reads_has_no_field_that_does_more(profile):
    tools = await listed(Lab(EVERYTHING), profile)
    for name, tool in tools.items():
        if tool.annotations.read_only_hint:
            assert "mark_read" not in json.dumps(tool.input_schema) + tool.description, name


async def test_a_caller_that_may_not_change_anything_gets_reading_tools_that_say_so():
    """P-13, P-81: the field that would only be refused is not shown, and the tool is read-only for this caller."""
    tools = await listed(Lab(policy(Preset.READER)), Profile.FULL)
    assert hints(tools["messages_get"]) == (True, False, True, False)
    assert "mark_read" not in tools["messages_get"].input_schema["properties"]
    assert "attachments_save" not in tools
    assert "messages_raw" in tools


async def test_a_tool_denied_everywhere_is_not_listed_but_its_refusal_explains_itself():
    lab = Lab(policy(Preset.ASSISTANT, rule(Verdict.DENY, Effect.READ)))
    async with Client(lab.server(Profile.FULL)) as client:
        names = {tool.name for tool in await client.list_tools()}
        assert "messages_get_many" not in names
        assert {"messages_list", "messages_search", "operations_status"} <= names
        told = await client.call_tool("messages_get_many", {"messages": lab.handles})
    assert told.structured_content["code"] == "policy_denied"
    assert CLIENT in told.structured_content["why"]
    assert lab.account.calls.count("fetch") == 0


async def test_a_tool_open_in_one_mailbox_only_is_listed():
    only = Rule(Verdict.ALLOW, frozenset({Effect.READ}), place=Place("archive"), source="rule 2")
    lab = Lab(policy(Preset.ASSISTANT, rule(Verdict.DENY, Effect.READ), only))
    assert "messages_get" in await listed(lab)


async def test_a_change_of_the_rules_shows_in_the_next_listing():
    lab = Lab(policy(Preset.READER))
    async with Client(lab.server()) as client:
        assert "attachments_save" not in {tool.name for tool in await client.list_tools()}
        lab.policies.policy = EVERYTHING
        assert "attachments_save" in {tool.name for tool in await client.list_tools()}


async def test_before_a_preset_is_chosen_reading_tools_show_and_say_what_to_do():
    """P-22."""
    lab = Lab(policy(None))
    async with Client(lab.server()) as client:
        assert "messages_list" in {tool.name for tool in await client.list_tools()}
        told = await client.call_tool("messages_list", {})
    assert told.structured_content["code"] == "not_onboarded"
    assert "mcp-proton setup" in told.structured_content["next"]
    assert not set(lab.account.calls) & {"search", "envelopes", "fetch"}


def test_groups_sort_operations_by_the_gravest_thing_they_can_do():
    definitions = list(Lab().service.world.catalog.for_audience(Audience.AGENT))
    groups = grouped(definitions)
    for group, offers in groups.items():
        if group in GROUPS:
            ceiling = frozenset().union(*(one.effects for one in GROUPS[: GROUPS.index(group) + 1]))
            assert all(offer.effects(frozenset(Effect)) <= ceiling for offer in offers.values())
    assert GROUPS[0].effects == READING
    assert GROUPS[-1].effects == DESTRUCTIVE
    assert frozenset().union(*(group.effects for group in GROUPS)) == frozenset(Effect)
