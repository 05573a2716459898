"""Many messages at once: counted before, in chunks, told in few tokens, stopped between two (P-18, P-62, P-91, P-93)."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Ending, Fate, Status
from mcp_proton.services.acting.batches import CHUNK

from .conftest import CATALOG, House, fill, held


def at_once(house: House, background_from: int = 10**9, patience: float = 20.0) -> None:
    """Let nothing go on in the background, or from so many messages on."""
    settings = replace(house.service.world.settings, background_from=background_from, patience=patience)
    object.__setattr__(house.service.world, "settings", settings)


async def test_up_to_fifty_new_handles_are_inline_and_the_rest_is_told_by_status(house: House) -> None:
    few = await house.ask("messages_archive", messages=fill(house, 50))
    assert len(few["handles"]) == 50
    many = await house.ask("messages_trash", messages=[*few["handles"], *fill(house, 1)])
    assert many["done"] == 51
    assert "handles" not in many
    assert "operations_status" in many["more"]
    assert len(json.dumps(many)) < 400


async def test_status_tells_every_item_by_cursor(house: House) -> None:
    asked = fill(house, 120)
    told = await house.ask("messages_archive", messages=asked)
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = await house.ask("operations_status", operation_id=told["operation_id"], items=True, **cursor)
        assert page["done"] == 120
        found += page["items"]
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}
    assert [one["handle"] for one in found] == asked
    assert all(one["fate"] == "done" and one["proof"] == "seen" and one["now"] for one in found)


async def test_messages_are_changed_in_chunks_and_progress_is_told(house: House) -> None:
    """P-62."""
    asked, heard = fill(house, 250), []

    async def progress(done: int, total: int | None, what: str) -> None:
        heard.append((done, total, what))

    request = CATALOG.by_name["messages_archive"].request.model_validate({"messages": asked})
    await house.service.submit(house.agent, request, progress)
    assert heard == [(100, 250, "moving"), (200, 250, "moving"), (250, 250, "moving")]
    assert house.personal.calls.count("move") == 3


async def test_a_query_is_pinned_and_what_arrives_later_is_not_touched(house: House) -> None:
    """P-62: the approval is of a snapshot."""
    house.rules(preset="assistant", rules=[{"effect": "organize", "verdict": "ask"}])
    fill(house, 5)
    told = await house.ask("messages_move_matching", query="subject:letter", to="archive")
    assert "5 messages" in told["summary"]
    house.receive("Letter too late")
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    done = await house.ask("operations_resume", operation_id=told["operation_id"])
    assert (done["status"], done["done"], held(house, "INBOX")) == ("ok", 5, 1)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("messages_move_matching", {"to": "archive"}),
        ("messages_flag_matching", {"add": ["read"]}),
        ("messages_destroy_matching", {}),
        ("labels_apply_matching", {"label": "Archive"}),
    ],
)
async def test_a_preview_counts_and_changes_nothing(house: House, name: str, more: dict[str, Any]) -> None:
    """P-91: occurrences and messages are counted apart, and what has no Message-ID is never merged."""
    same = "<same@example.org>"
    for subject in ("Letter a", "Letter b"):
        house.receive(subject, message_id=same)
        house.receive(f"{subject} again", message_id="")
    told = await house.ask(name, query="subject:letter", preview=True, **more)
    assert (told["status"], told["preview"]) == ("ok", True)
    assert (told["occurrences"], told["messages"]) == (4, 3)
    assert told["verdict"] == ("ask" if "destroy" in name else "allow")
    assert told["would"][0].startswith("4 messages from INBOX")
    assert not {"move", "set_flags", "destroy", "label"} & set(house.personal.calls)
    assert await house.journal.recent(house.agent) == []


async def test_a_preview_tells_a_boundary_that_would_refuse(house: House) -> None:
    house.rules(preset="assistant", boundaries={"max_batch": 3})
    told = await house.ask("messages_archive", messages=fill(house, 4))
    assert told["code"] == "out_of_bounds"
    shown = await house.ask("messages_move", messages=fill(house, 4), to="archive", preview=True)
    assert shown["verdict"] == "deny"
    assert "max_batch" in shown["why"]


async def test_finding_is_judged_before_anything_is_looked_at(house: House) -> None:
    fill(house, 2)
    house.rules(preset="assistant", rules=[{"effect": "read", "verdict": "deny"}])
    told = await house.ask("messages_move_matching", query="body:secret", to="archive")
    assert told["status"] == "refused"
    assert "search" not in house.personal.calls


async def test_a_limit_of_the_owner_s_counts_messages(house: House) -> None:
    """P-18."""
    house.rules(preset="assistant", boundaries={"rates": {"organize": "1/hour"}})
    assert (await house.ask("messages_archive", messages=fill(house, 1)))["status"] == "ok"
    assert (await house.ask("messages_archive", messages=fill(house, 1)))["code"] == "over_limit"


class Slow:
    """Makes every move wait until a test lets it go on."""

    def __init__(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        move = house.personal.move

        async def waiting(*arguments: Any) -> Any:
            self.begun.set()
            await self.go.wait()
            return await move(*arguments)

        monkeypatch.setattr(house.personal, "move", waiting)


async def test_a_running_operation_is_stopped_between_two_chunks(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-62: what is begun is finished, the rest is left and said."""
    at_once(house)
    slow, asked = Slow(house, monkeypatch), fill(house, 250)
    running = asyncio.create_task(house.ask("messages_archive", messages=asked))
    await slow.begun.wait()
    (record,) = await house.journal.recent(house.agent)
    assert (await house.ask("operations_cancel", operation_id=record.id))["code"] == "in_progress"
    slow.go.set()
    told = await running
    assert (told["status"], told["done"], told["left"]) == ("partly_done", 100, 150)
    assert told["not_done"][0]["code"] == "cancelled"
    status = await house.ask("operations_status", operation_id=record.id)
    assert (status["state"], status["done"], status["pending"]) == ("partially_succeeded", 100, 150)
    assert held(house, "Archive") == 100


@pytest.mark.parametrize("rules", [{"preset": "reader"}, {}], ids=["denied", "no preset"])
async def test_a_revocation_stops_a_running_operation_between_two_chunks(
    house: House, monkeypatch: pytest.MonkeyPatch, rules: dict[str, Any]
) -> None:
    """P-38."""
    at_once(house)
    slow, asked = Slow(house, monkeypatch), fill(house, 250)
    running = asyncio.create_task(house.ask("messages_archive", messages=asked))
    await slow.begun.wait()
    house.rules(**rules)
    slow.go.set()
    told = await running
    assert (told["status"], told["done"], told["left"]) == ("partly_done", 100, 150)
    assert held(house, "INBOX") == 150


async def test_a_long_one_goes_on_in_the_background(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-62: the caller is told where to look, and another call is not kept waiting."""
    at_once(house, background_from=200, patience=0.01)
    slow, asked = Slow(house, monkeypatch), fill(house, 250)
    told = await house.ask("messages_archive", messages=asked)
    assert (told["status"], told["code"], told["state"]) == ("ok", "in_progress", "executing")
    status = await house.ask("operations_status", operation_id=told["operation_id"])
    assert (status["code"], status["pending"]) == ("in_progress", 250)
    slow.go.set()
    await house.service._performing.running[told["operation_id"]]
    done = await house.ask("operations_status", operation_id=told["operation_id"])
    assert (done["state"], done["done"]) == ("succeeded", 250)


async def test_one_that_is_quick_enough_is_told_at_once_though_it_is_long(house: House) -> None:
    at_once(house, background_from=200)
    told = await house.ask("messages_archive", messages=fill(house, 250))
    assert (told["status"], told["done"]) == ("ok", 250)


async def test_a_process_that_ends_stops_within_two_seconds_and_the_next_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J-33, P-62: nothing is done twice, nothing is left out."""
    at_once(house, background_from=200, patience=0.01)
    slow, asked = Slow(house, monkeypatch), fill(house, 350)
    told = await house.ask("messages_archive", messages=asked)
    await slow.begun.wait()
    ending = asyncio.create_task(house.service.aclose())
    await asyncio.sleep(0)
    slow.go.set()
    await asyncio.wait_for(ending, 2)
    record = await house.journal.read(told["operation_id"], house.agent)
    assert (record.status, record.begun, held(house, "Archive")) == (Status.EXECUTING, 100, 100)

    house.journal.gone.add(record.id)
    house.service = type(house.service)(house.service.world)
    await house.service._recovery.all()
    await house.service._performing.running[record.id]
    after = await house.ask("operations_status", operation_id=record.id)
    assert (after["state"], after["done"]) == ("succeeded", 350)
    assert (held(house, "INBOX"), held(house, "Archive")) == (0, 350)
    await house.service.aclose()


async def test_memory_does_not_grow_with_what_was_done(house: House) -> None:
    """10,000 messages in one call: at most 20 MiB over idle, the journal in memory apart."""
    at_once(house)
    asked = fill(house, 10_000)
    request = CATALOG.by_name["messages_star"].request.model_validate({"messages": asked})
    house.journal.begin = forgetful(house.journal.begin)  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        outcome = await house.service.submit(house.agent, request)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome.status == "ok"
    assert house.personal.calls.count("set_flags") == 10_000 // CHUNK
    assert peak < 20 << 20, peak


def forgetful(begin: Any) -> Any:
    async def begun(operation_id: str, upto: int, *_: Any) -> bool:
        return bool(await begin(operation_id, upto))

    return begun


@pytest.mark.parametrize(
    ("name", "count", "freezes"), [("archive", 1, False), ("archive", 101, True), ("destroy", 1, True)]
)
async def test_while_the_server_is_not_in_sync_bulk_and_deletion_wait_and_then_go_on_by_themselves(
    house: House, name: str, count: int, freezes: bool
) -> None:
    """N-9."""
    house.rules(preset="autonomous")
    house.personal.unrest = "the server is still taking in the mailbox"
    asked = fill(house, count)
    told = await house.ask(f"messages_{name}", messages=asked)
    assert told.get("code") == ("not_synced" if freezes else None)
    if freezes:
        assert held(house, "INBOX") == count
        assert "still taking in" in told["why"]
        assert "by itself" in told["next"]
        house.personal.unrest = None
        assert (await house.ask(f"messages_{name}", messages=asked))["done"] == count


async def test_a_stale_handle_says_where_its_message_is_where_that_is_proved(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-17: it is named, and not acted upon."""
    asked = fill(house, 1)
    moved = (await house.ask("messages_archive", messages=asked))["handles"]

    async def known(handles: Any, to: Any) -> Any:
        return [Fate(one, Ending.FAILED, "stale_handle", "it was moved", now=Handle.parse(moved[0])) for one in handles]

    monkeypatch.setattr(house.personal, "move", known)
    told = await house.ask("messages_trash", messages=asked)
    assert (told["status"], told["not_done"][0]["now"]) == ("stale", moved[0])
    assert held(house, "Archive") == 1
