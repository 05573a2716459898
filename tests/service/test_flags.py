"""Flags (P-55, J-16…J-21, A-15)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.ports import FlagChange, Standing

from .conftest import CATALOG, House, fill


def flags(house: House, handle: str) -> frozenset[str]:
    return house.personal.find(Handle.parse(handle)).mail.flags


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("messages_mark_read", set(), {"seen"}),
        ("messages_mark_unread", {"seen"}, set()),
        ("messages_star", {"seen"}, {"seen", "flagged"}),
        ("messages_unstar", {"flagged"}, set()),
    ],
)
async def test_everyday_names_change_one_flag_and_no_other(
    house: House, name: str, before: set[str], after: set[str]
) -> None:
    """J-16, J-17: the count of what changed comes back."""
    handle = str(house.personal.add("INBOX", b"Subject: x\r\n\r\n", flags=frozenset(before)))
    told = await house.ask(name, messages=[handle])
    assert (told["status"], told["done"]) == ("ok", 1)
    assert flags(house, handle) == after


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("read", "seen"),
        ("starred", "flagged"),
        ("answered", "answered"),
        ("Forwarded", "forwarded"),
        ("$Todo", "$Todo"),
    ],
)
async def test_flags_are_named_as_people_do_and_keywords_as_they_are(house: House, asked: str, kept: str) -> None:
    """J-18, J-19, J-20, J-21."""
    (handle,) = fill(house, 1)
    await house.ask("messages_flag", messages=[handle], add=[asked])
    assert flags(house, handle) == {kept}
    await house.ask("messages_flag", messages=[handle], remove=[asked])
    assert flags(house, handle) == set()


@pytest.mark.parametrize("word", ["deleted", "recent", "draft", "unread", "two words", "\\Seen", "é", ""])
def test_what_is_no_flag_of_this_kind_is_refused_before_the_door(word: str) -> None:
    """A-15: Deleted and Recent are not set this way."""
    with pytest.raises(ValueError, match="add"):
        CATALOG.by_name["messages_flag"].request.model_validate({"messages": ["a.abcdef.1"], "add": [word]})


@pytest.mark.parametrize("given", [{}, {"add": ["read"], "remove": ["seen"]}])
def test_a_change_that_says_nothing_or_contradicts_itself_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="flag"):
        CATALOG.by_name["messages_flag"].request.model_validate({"messages": ["a.abcdef.1"], **given})


async def test_what_was_so_already_is_counted_apart(house: House) -> None:
    handles = fill(house, 3)
    await house.ask("messages_mark_read", messages=handles[:2])
    told = await house.ask("messages_mark_read", messages=handles)
    assert (told["status"], told["done"], told["already"]) == ("ok", 1, 2)


async def test_flags_that_do_not_reach_the_server_are_named(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-55: on Bridge a keyword or an answered mark lives on this computer until the message's next event."""
    monkeypatch.setattr(house.personal, "features", lambda: {"keywords": Standing.UNAVAILABLE})
    told = await house.ask("messages_flag", messages=fill(house, 1), add=["answered", "$Todo", "read"])
    assert told["local_only"] == ["$Todo", "answered"]
    assert "local_only" not in await house.ask("messages_star", messages=fill(house, 1))


async def test_a_message_is_changed_on_condition_that_nobody_changed_it_since_it_was_read(house: House) -> None:
    """A-15: the version comes with a read; what was changed elsewhere keeps its flags, and the answer names it."""
    first, second = fill(house, 2)
    told = await house.ask("messages_get", message=first)
    assert (await house.ask("messages_headers", message=first)).get("version") is None
    house.personal.calls.clear()
    await house.personal.set_flags([Handle.parse(second)], FlagChange(add=frozenset({"answered"})))
    guarded: dict[str, Any] = {"messages": [first, second], "unchanged_since": told["version"]}
    ended = await house.ask("messages_flag", add=["starred"], **guarded)
    assert (ended["done"], [one["code"] for one in ended["not_done"]]) == (1, ["changed"])
    assert ended["not_done"][0]["handle"] == second
    assert "warning" not in ended
    assert (flags(house, first), flags(house, second)) == ({"flagged"}, {"answered"})
    late = await house.ask("messages_flag", remove=["starred"], **(guarded | {"messages": [first]}))
    assert (late["code"], flags(house, first)) == ("changed", {"flagged"})


async def test_a_version_is_not_told_of_a_message_that_the_read_itself_marked(house: House) -> None:
    """A-15: it would be old already."""
    (handle,) = fill(house, 1)
    assert "version" not in await house.ask("messages_get", message=handle, mark_read=True)
    version = (await house.ask("messages_get", message=handle))["version"]
    ended = await house.ask("messages_flag", messages=[handle], add=["starred"], unchanged_since=version)
    assert ended["done"] == 1


async def test_without_versions_it_is_done_with_a_warning(house: House) -> None:
    """A-15: so on Bridge, which has no CONDSTORE."""
    house.personal.versioned = False
    (handle,) = fill(house, 1)
    assert "version" not in await house.ask("messages_get", message=handle)
    told = await house.ask("messages_flag", messages=[handle], add=["starred"], unchanged_since=7)
    assert (told["status"], told["done"], flags(house, handle)) == ("ok", 1, {"flagged"})
    assert "without `unchanged_since`" in told["warning"]
    assert "warning" not in await house.ask("messages_flag", messages=[handle], remove=["starred"])


@pytest.mark.parametrize(
    "given",
    [
        {"unchanged_since": 0},
        {"unchanged_since": "-4"},
        {"unchanged_since": True},
        {"unchanged_since": 2**63},
        {"unchanged_since": 9, "remove": ["starred"]},
        {"unchanged_since": 9, "messages": ["a.abcdef.1", "a.abcdeg.1"]},
    ],
)
def test_a_guard_that_could_not_hold_is_refused_before_the_door(given: dict[str, Any]) -> None:
    """A-15: versions are counted in each mailbox apart, and a first command would spoil the second's condition."""
    request = CATALOG.by_name["messages_flag"].request
    known = {"messages": ["a.abcdef.1"], "add": ["read"]}
    assert request.model_validate(known | {"unchanged_since": 2**63 - 1})
    with pytest.raises(ValueError, match="unchanged_since"):
        request.model_validate(known | given)
