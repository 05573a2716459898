"""`messages_ids`: all handles of a mailbox, page by page, without a gap or a double, or refused (J-15, J-60 to J-72, N-4)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from mcp_proton.services.operations.walking import MessagesIds
from mcp_proton.testing import MemoryAccount

from .conftest import House, fill


async def walked(house: House, **arguments: Any) -> tuple[list[str], int]:
    """All ids of a walk that checks itself, and how many pages it took."""
    ids, pages, at, checkpoint = [], 0, 0, {}
    while True:
        told = await house.ask("messages_ids", mailbox="inbox", position=at, **arguments, **checkpoint)
        assert told["status"] == "ok", told
        ids += told.get("ids", [])
        pages += 1
        if not told["has_more"]:
            assert "next_position" not in told
            return ids, pages
        at = told["next_position"]
        checkpoint = {
            "expected_query_state": told["query_state"],
            "expected_query_fingerprint": told["query_fingerprint"],
        }


async def test_a_walk_meets_every_message_once_and_ends_on_the_last_full_page(house: House) -> None:
    """J-65 to J-67."""
    handles = fill(house, 10)
    ids, pages = await walked(house, limit=5)
    assert sorted(ids) == sorted(handles)
    assert pages == 2
    assert await walked(house, limit=100) == (ids, 1)


async def test_a_page_tells_where_to_go_on_and_nothing_of_any_message(house: House) -> None:
    """J-60, J-65: no subject, address or body passes."""
    fill(house, 3)
    told = await house.ask("messages_ids", mailbox="inbox", limit=2)
    assert told.keys() == {
        "status", "ids", "position", "total", "has_more", "next_position", "query_state", "query_fingerprint",
    }  # fmt: skip
    assert (told["position"], told["total"], told["has_more"], told["next_position"]) == (0, 3, True, 2)
    assert len(told["query_fingerprint"]) == 64
    assert not {"search", "envelopes", "fetch", "structure"} & set(house.personal.calls)


async def test_other_arguments_are_refused_before_the_server_is_asked(house: House) -> None:
    """J-68, J-71; the page size may change, nothing else (J-70)."""
    fill(house, 5)
    first = await house.ask("messages_ids", mailbox="inbox", account="personal", limit=2)
    checkpoint = {
        "expected_query_state": first["query_state"],
        "expected_query_fingerprint": first["query_fingerprint"],
    }
    house.personal.calls.clear()
    date, others = "2020-01-01T00:00:00Z", [{"mailbox": "archive"}, {"account": "work"}]
    for other in (*others, {"received_after": date}, {"received_before": date}):
        told = await house.ask(
            "messages_ids", position=2, **{"mailbox": "inbox", "account": "personal", **other}, **checkpoint
        )
        assert (told["status"], told["code"]) == ("conflict", "query_fingerprint_mismatch")
    assert "ids" not in house.personal.calls + house.work.calls
    told = await house.ask("messages_ids", mailbox="inbox", account="personal", position=2, limit=100, **checkpoint)
    assert len(told["ids"]) == 3


async def test_a_walk_goes_on_where_the_server_stopped_though_it_was_asked_for_more(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J-66: a server may enforce a smaller page than the one asked for."""
    handles, ids = fill(house, 7), MemoryAccount.ids
    monkeypatch.setattr(
        MemoryAccount, "ids", lambda own, box, within, at, limit: ids(own, box, within, at, min(limit, 3))
    )
    told, pages = await walked(house, limit=100)
    assert sorted(told) == sorted(handles)
    assert pages == 3


@pytest.mark.parametrize("change", ["came", "went"])
async def test_a_mailbox_that_changed_during_a_walk_is_refused_with_both_states(house: House, change: str) -> None:
    """J-72, N-4."""
    fill(house, 5)
    first = await house.ask("messages_ids", mailbox="inbox", limit=2)
    if change == "came":
        house.receive("new", message_id="<new@x>")
    else:
        house.personal.boxes["INBOX"].mail.popitem()
    told = await house.ask(
        "messages_ids",
        mailbox="inbox",
        position=2,
        expected_query_state=first["query_state"],
        expected_query_fingerprint=first["query_fingerprint"],
    )
    assert (told["status"], told["code"]) == ("conflict", "query_state_changed")
    now = (await house.ask("messages_ids", mailbox="inbox"))["query_state"]
    assert first["query_state"] in told["why"]
    assert now in told["why"]
    assert "ids" not in told
    assert "position 0" in told["next"]


@pytest.mark.parametrize("half", ["expected_query_state", "expected_query_fingerprint"])
def test_half_a_checkpoint_is_refused(half: str) -> None:
    """J-69."""
    with pytest.raises(ValidationError):
        MessagesIds.model_validate({"mailbox": "inbox", half: "abc"})


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00.0Z", "2026-03-01T12:00:00.000000000Z", "2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00",
        "2026-03-01t12:00:00Z", "2026-03-01T12:00:00z", "2026-12-31T23:59:60Z", "2026-02-30T00:00:00Z", "2026-03-01",
        "2026-03-01T12:00:00.1234567890Z", "2026-03-01T24:00:00Z", "２026-03-01T12:00:00Z", "",
    ],
)  # fmt: skip
def test_a_time_that_is_not_strictly_utc_is_refused(text: str) -> None:
    """J-64."""
    with pytest.raises(ValidationError):
        MessagesIds.model_validate({"mailbox": "inbox", "received_after": text})


@pytest.mark.parametrize("text", ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00.123456789Z"])
def test_a_utc_time_is_kept_as_it_is_written(text: str) -> None:
    """J-64."""
    assert MessagesIds.model_validate({"mailbox": "inbox", "received_before": text}).received_before == text


@pytest.mark.parametrize("extra", [{"filter": {}}, {"sort": []}, {"limit": 101}, {"limit": 0}, {"position": -1}])
def test_nothing_else_can_be_asked_for(extra: dict[str, Any]) -> None:
    """J-61."""
    with pytest.raises(ValidationError):
        MessagesIds.model_validate({"mailbox": "inbox", **extra})


async def test_a_mailbox_that_may_not_be_listed_is_not_walked_over(house: House) -> None:
    fill(house, 2)
    house.rules(preset="reader", rules=[{"effect": "list", "verdict": "deny", "mailbox": "INBOX"}])
    assert (await house.ask("messages_ids", mailbox="inbox"))["code"] == "policy_denied"
    assert "ids" not in house.personal.calls
