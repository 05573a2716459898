"""One answer to Email/query: what no server may say is not believed, whatever else is right about it (J-67, J-73 to J-76)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.jmap.finding import windows

GOOD: dict[str, Any] = {"ids": ["a", "b"], "position": 4, "total": 90, "queryState": "s1"}
ASKED, POSITION = 5, 4


def without(name: str) -> dict[str, Any]:
    return {one: value for one, value in GOOD.items() if one != name}


@pytest.mark.parametrize(
    "answer",
    [
        without("ids"),
        without("position"),
        without("queryState"),
        GOOD | {"queryState": ""},
        GOOD | {"queryState": None},
        GOOD | {"ids": "ab"},
        GOOD | {"ids": ["a", ""]},
        GOOD | {"ids": ["a", 1]},
        GOOD | {"ids": ["a", "b", "a"]},
        GOOD | {"ids": list("abcdef")},  # longer than what was asked for
        GOOD | {"ids": list("abc"), "limit": 2},  # longer than what was enforced
        GOOD | {"ids": list("abcdef"), "limit": 10},  # a larger limit does not make the page larger
        GOOD | {"limit": 0, "ids": []},
        GOOD | {"limit": -1},
        GOOD | {"total": 5},  # behind what was given
        GOOD | {"total": -1},
        GOOD | {"total": "90"},
        GOOD | {"total": True},
        GOOD | {"position": -4},
        GOOD | {"position": 3},
        GOOD | {"ids": []},
    ],
    ids=str,
)
def test_what_no_server_may_say_is_refused(answer: dict[str, Any]):
    """J-73, J-75, J-76."""
    with pytest.raises(windows.InvalidUpstream) as refused:
        windows.read(answer, ASKED, POSITION)
    assert refused.value.code == "upstream_response_invalid"
    assert not refused.value.retry


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({}, True),
        ({"limit": 5}, True),
        ({"limit": 2}, True),
        ({"limit": 500}, True),  # above the request: taken, and the request still bounds the page
        ({"total": 6}, False),
        ({"total": None}, True),
        ({"ids": ["a"], "total": None}, True),  # a short page is no end
        ({"ids": [], "total": None}, False),
        ({"ids": [], "total": 4}, False),
        ({"ids": [], "total": 3, "position": 3}, False),  # behind a known end, clamped
    ],
    ids=str,
)
def test_what_may_be_true_is_taken_as_it_is(change: dict[str, Any], more: bool):
    """J-67, J-74, J-76."""
    window = windows.read(GOOD | change, ASKED, POSITION)
    assert list(window.ids) == (GOOD | change)["ids"]
    assert window.has_more is more
