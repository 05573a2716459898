"""The one door: judge, plan, judge, journal, perform (P-02, P-10, P-16, P-20…P-22, P-30…P-38, P-41)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.consequences import EffectTable
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.plan import Impact, Scope

from .conftest import CATALOG, House

READS = [one.name for one in CATALOG.for_audience(Audience.AGENT) if getattr(one, "reads_only", False)]


async def test_before_a_preset_is_chosen_nothing_is_reached_and_the_answer_says_what_to_do(house: House) -> None:
    """P-22."""
    house.rules()
    told = await house.ask("messages_list")
    assert (told["status"], told["code"]) == ("refused", "not_onboarded")
    assert "setup" in told["next"]
    assert not {"search", "fetch", "structure", "envelopes"} & set(house.personal.calls)


async def test_a_denied_read_fetches_nothing_and_names_the_rule(house: House) -> None:
    """P-10, P-13."""
    handle = house.receive()
    house.rules(preset="assistant", rules=[{"effect": "read", "verdict": "deny", "client": "hermes"}])
    told = await house.ask("messages_get", message=str(handle))
    assert (told["status"], told["code"]) == ("refused", "policy_denied")
    assert "rule 1" in told["why"]
    assert not {"fetch", "structure", "headers"} & set(house.personal.calls)
    assert house.journal.glanced[-1] == ("messages_get", Status.DENIED)


async def test_reading_denied_and_listing_allowed_shows_envelopes_and_no_content(house: House) -> None:
    house.receive("Visible subject", "secret body")
    house.rules(preset="assistant", rules=[{"effect": "read", "verdict": "deny"}])
    told = await house.ask("messages_list")
    assert told["messages"][0]["subject"] == "Visible subject"
    assert (await house.ask("messages_search", query="subject:visible"))["status"] == "ok"
    assert (await house.ask("messages_search", query="body:secret"))["status"] in ("refused", "not_found")


async def test_a_rule_about_one_mailbox_binds_there_and_nowhere_else(house: House) -> None:
    house.personal.add_mailbox("Folders/Health")
    inside = house.receive(mailbox="Folders/Health")
    outside = house.receive()
    house.rules(preset="assistant", rules=[{"effect": "*", "verdict": "deny", "mailbox": "Folders/Health"}])
    assert (await house.ask("messages_get", message=str(inside)))["status"] == "refused"
    assert (await house.ask("messages_get", message=str(outside)))["status"] == "ok"
    listed = await house.ask("mailboxes_list")
    assert "Folders/Health" not in [one["path"] for one in listed["mailboxes"]]
    assert listed["hidden"] == 1


async def test_every_scope_must_pass_and_one_deny_refuses_the_whole(house: House) -> None:
    """P-16."""
    house.personal.add_mailbox("Folders/Health")
    handles = [str(house.receive()), str(house.receive(mailbox="Folders/Health"))]
    house.rules(preset="assistant", rules=[{"effect": "read", "verdict": "deny", "mailbox": "Folders/Health"}])
    told = await house.ask("messages_get_many", messages=handles)
    assert told["status"] == "refused"
    assert "structure" not in house.personal.calls


async def test_what_the_effect_table_does_not_know_is_refused_even_where_everything_is_allowed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-20."""
    handle = house.receive()
    house.rules(preset="autonomous")
    monkeypatch.setattr(house.personal, "consequences", lambda: EffectTable([]))
    told = await house.ask("messages_get", message=str(handle), mark_read=True)
    assert (told["status"], told["code"]) == ("unsupported", "unsupported_semantics")
    assert "set_flags" not in house.personal.calls


async def test_asking_gives_an_operation_that_waits_and_does_nothing(house: House) -> None:
    """P-30, P-34."""
    handle = house.receive()
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    told = await house.ask("messages_get", message=str(handle), mark_read=True)
    assert told["status"] == "approval_pending"
    assert set(told) >= {"operation_id", "expires_at", "summary", "next"}
    assert told["expires_at"] == "2026-11-30T12:15:00Z"
    assert not {"structure", "fetch", "set_flags"} & set(house.personal.calls)


async def approved(house: House) -> tuple[str, str]:
    """Bring an operation as far as the owner's yes; return its id and the message."""
    handle = str(house.receive())
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    operation_id = (await house.ask("messages_get", message=handle, mark_read=True))["operation_id"]
    assert (await house.owner_asks("approvals_approve", operation_id=operation_id))["state"] == "approved"
    return operation_id, handle


async def test_an_approved_operation_is_done_once_by_resume_and_never_again(house: House) -> None:
    """P-32, P-37."""
    operation_id, _ = await approved(house)
    done = await house.ask("operations_resume", operation_id=operation_id)
    assert (done["status"], done["marked_read"]) == ("ok", True)
    house.personal.calls.clear()
    again = await house.ask("operations_resume", operation_id=operation_id)
    assert (again["status"], again["code"], again["state"]) == ("ok", "already_done", "succeeded")
    assert "set_flags" not in house.personal.calls


async def test_resume_before_the_owner_answered_says_that_it_still_waits(house: House) -> None:
    """P-36: whatever the client says, only the owner approves."""
    handle = str(house.receive())
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    operation_id = (await house.ask("messages_get", message=handle, mark_read=True))["operation_id"]
    assert (await house.ask("operations_resume", operation_id=operation_id))["status"] == "approval_pending"
    assert "set_flags" not in house.personal.calls


@pytest.mark.parametrize("extra", [{"confirmed": True}, {"approve": True}, {"message": "x.abcdef.1"}])
def test_resume_takes_no_other_argument(extra: dict[str, Any]) -> None:
    """P-32, P-36."""
    with pytest.raises(ValueError, match="not permitted"):
        CATALOG.by_name["operations_resume"].request.model_validate({"operation_id": "op_" + "a" * 16, **extra})


async def test_an_agent_cannot_approve_and_is_not_even_told_that_the_power_exists(house: House) -> None:
    """P-19, P-41."""
    operation_id, _ = await approved(house)
    for power in ("approvals_approve", "approvals_deny", "approvals_show"):
        told = await house.ask(power, operation_id=operation_id)
        assert told["status"] == "not_found"


async def test_an_operation_of_another_client_looks_like_one_that_does_not_exist(house: House) -> None:
    """P-31, P-41."""
    operation_id, _ = await approved(house)
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    foreign = await house.ask("operations_status", other, operation_id=operation_id)
    missing = await house.ask("operations_status", other, operation_id="op_" + "a" * 16)
    assert foreign == missing
    assert (await house.ask("operations_resume", other, operation_id=operation_id))["status"] == "not_found"
    assert "set_flags" not in house.personal.calls


async def test_the_owner_does_not_resume_for_an_agent(house: House) -> None:
    operation_id, _ = await approved(house)
    assert (await house.owner_asks("operations_resume", operation_id=operation_id))["status"] == "not_found"


async def test_a_denied_operation_is_never_done(house: House) -> None:
    handle = str(house.receive())
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    operation_id = (await house.ask("messages_get", message=handle, mark_read=True))["operation_id"]
    assert (await house.owner_asks("approvals_deny", operation_id=operation_id))["state"] == "denied"
    told = await house.ask("operations_resume", operation_id=operation_id)
    assert (told["status"], told["code"]) == ("refused", "approval_denied")
    assert (await house.owner_asks("approvals_approve", operation_id=operation_id))["state"] == "denied"


async def test_an_approval_runs_out(house: House) -> None:
    """P-34."""
    operation_id, _ = await approved(house)
    house.clock.wind(minutes=16)
    told = await house.ask("operations_resume", operation_id=operation_id)
    assert (told["status"], told["state"]) == ("refused", "expired")


async def test_what_ran_out_is_not_told_as_cancelled(house: House) -> None:
    """P-34."""
    operation_id, _ = await approved(house)
    house.clock.wind(minutes=16)
    for ask in ("operations_cancel", "operations_status"):
        told = await house.ask(ask, operation_id=operation_id)
        assert told["state"] == "expired", ask


async def test_a_deny_since_the_approval_wins(house: House) -> None:
    """P-38."""
    operation_id, _ = await approved(house)
    house.rules(preset="reader")
    assert (await house.ask("operations_resume", operation_id=operation_id))["code"] == "policy_denied"
    assert "set_flags" not in house.personal.calls


async def test_an_approval_is_void_when_what_it_would_do_has_changed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-21, P-35: the mailbox's role changed, so the same request would do something else."""
    operation_id, _ = await approved(house)
    box = house.personal.boxes["INBOX"]
    box.mailbox = type(box.mailbox)(**{**_fields(box.mailbox), "path": "INBOX/Moved"})
    told = await house.ask("operations_resume", operation_id=operation_id)
    assert (told["status"], told["code"]) == ("conflict", "changed_since_approval")
    assert "set_flags" not in house.personal.calls


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


@pytest.mark.parametrize("place", [0, 20, -1])
async def test_one_changed_octet_of_what_was_approved_voids_the_approval(house: House, place: int) -> None:
    """N-6, P-35."""
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    asked = [str(house.receive("A")), str(house.receive("B"))]
    operation_id = (await house.ask("messages_archive", messages=asked))["operation_id"]
    await house.owner_asks("approvals_approve", operation_id=operation_id)
    body = house.journal._bodies[operation_id]
    spot = range(len(body))[place]
    house.journal._bodies[operation_id] = (
        body.replace(asked[0], asked[1]) if place == 20 else body[:spot] + " " + body[spot:]
    )
    told = await house.ask("operations_resume", operation_id=operation_id)
    assert (told["status"], told["code"]) == ("conflict", "changed_since_approval")
    assert "move" not in house.personal.calls


async def test_the_owner_sees_which_messages_they_are_and_that_a_stranger_wrote_it(house: House) -> None:
    """N-6, P-40: the plan's lines first, strangers' words marked."""
    handle = str(house.receive("Invoice 7", mailbox="Trash"))
    told = await house.ask("messages_destroy", messages=[handle])
    shown = await house.owner_asks("approvals_show", operation_id=told["operation_id"])
    (stranger,) = [line for line in shown["lines"] if line.get("from_stranger")]
    assert stranger["value"] == "2026-11-30T11:00:00Z Anna Example <anna@example.org>: Invoice 7"
    (risk,) = [line for line in shown["lines"] if line.get("risk")]
    assert risk["label"] == "1 message from Trash"


async def test_a_withdrawn_operation_cannot_be_approved(house: House) -> None:
    operation_id, _ = await approved(house)
    assert (await house.ask("operations_cancel", operation_id=operation_id))["state"] == "cancelled"
    assert (await house.ask("operations_resume", operation_id=operation_id))["status"] == "cancelled"


async def test_the_owner_sees_everything_that_would_happen_from_the_plan(house: House) -> None:
    operation_id, handle = await approved(house)
    shown = await house.owner_asks("approvals_show", operation_id=operation_id)
    values = {line["value"] for line in shown["lines"]}
    assert handle in values
    assert any("INBOX" in value for value in values)
    assert shown["client"] == "hermes"


async def test_the_owner_lists_what_waits_and_an_agent_only_its_own(house: House) -> None:
    operation_id, _ = await approved(house)
    assert [one["operation_id"] for one in (await house.owner_asks("operations_list"))["operations"]] == [operation_id]
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    assert "operations" not in await house.ask("operations_list", other)


async def test_the_owner_reads_without_a_preset(house: House) -> None:
    handle = house.receive()
    house.rules()
    assert (await house.owner_asks("messages_get", message=str(handle)))["status"] == "ok"


async def test_a_client_sees_only_the_accounts_it_was_given(house: House) -> None:
    """P-13, P-15."""
    confined = Caller("hermes", Audience.AGENT, Surface.TOOL, accounts=frozenset({"work"}))
    handle = house.receive()
    assert [one["account"] for one in (await house.ask("accounts_list", confined))["accounts"]] == ["work"]
    foreign = await house.ask("messages_get", confined, message=str(handle))
    assert foreign["status"] == "not_found"
    assert foreign["why"] == (await house.ask("messages_get", confined, message="nowhere.abcdef.1-1"))["why"].replace(
        "nowhere", "personal"
    )


async def test_a_fault_of_ours_is_told_as_one_and_quotes_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "CAN" + "ARY"

    async def broken(*_: object) -> None:
        raise RuntimeError(f"subject: SECRET-{canary}")

    monkeypatch.setattr(house.personal, "search", broken)
    told = await house.ask("messages_list")
    assert told["code"] == "internal"
    assert "CANARY" not in str(told)
    assert "CANARY" not in caplog.text
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("name", READS)
async def test_a_reading_operation_never_writes(house: House, name: str) -> None:
    """Catalog law, A-91: whatever a read-only operation is asked, it changes nothing."""
    handle = house.receive()
    arguments = {
        key: str(handle) if key == "message" else [str(handle)] if key == "messages" else value
        for key, value in CATALOG.by_name[name].example.items()
        if key != "account"
    }
    await house.ask(name, **arguments)
    assert "set_flags" not in house.personal.calls
    assert not house.artifacts.kept


async def test_an_operation_cannot_reach_an_account_outside_its_plan(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_proton.domain.errors import Defect
    from mcp_proton.services.door.call import Call

    call = Call(house.service.world, owner(), house.policies.policy, house.service)
    call.reachable = frozenset({"personal"})
    assert call.backend("personal") is house.personal
    with pytest.raises(Defect):
        call.backend("work")


async def test_an_effect_that_was_not_declared_cannot_happen(house: House) -> None:
    from dataclasses import replace

    from mcp_proton.domain.errors import Defect
    from mcp_proton.domain.operation import Finer
    from mcp_proton.services.door.call import Call
    from mcp_proton.services.door.planning import plan

    async def more(*_: object) -> Finer:
        return Finer(impacts=frozenset({Impact(Effect.DESTROY, Scope("personal"))}))

    greedy = replace(CATALOG.by_name["messages_list"], plan=more)
    call = Call(house.service.world, owner(), house.policies.policy, house.service)
    with pytest.raises(Defect, match="destroy"):
        await plan(greedy, greedy.request(), call)


async def test_the_door_itself_takes_no_answer_from_an_agent(house: House) -> None:
    """P-41: even past the catalog, only the owner decides."""
    handle = str(house.receive())
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    operation_id = (await house.ask("messages_get", message=handle, mark_read=True))["operation_id"]
    with pytest.raises(NotFound):
        await house.service.decide(house.agent, operation_id, approve=True)
    assert (await house.ask("operations_status", operation_id=operation_id))["state"] == "pending"
