"""What an answer named is looked for again; an orphan is brought back, a loss is told and shut off (N-16, P-33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.limits import Switches
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof, Status
from mcp_proton.testing import MemoryAccount

from .conftest import House, fill, held


class Lagging(MemoryAccount):
    """Names places before it shows them, as Bridge does. `becomes` is what is seen later."""

    becomes: Proof = Proof.SEEN
    settled = False

    async def move(self, handles: Sequence[Handle], to: Any) -> Sequence[Fate]:
        return [replace(fate, proof=Proof.COPYUID) for fate in await super().move(handles, to)]

    async def prove(self, fates: Sequence[Fate], to: Any, age: float) -> Sequence[Fate]:
        self.calls.append("prove")
        if not self.settled:
            return fates
        if self.becomes is Proof.ORPHANED:
            return [replace(fate, proof=Proof.ORPHANED, now=self._orphan(fate)) for fate in fates]
        return [replace(fate, proof=self.becomes) for fate in fates]

    def _orphan(self, fate: Fate) -> Handle:
        assert fate.now is not None
        box, stored = self.held(fate.now)
        del box.mail[stored.uid]
        return self.put(self.boxes["All Mail"], stored.mail)

    async def reattach(self, handles: Sequence[Handle], to: Any) -> Sequence[Fate]:
        self.calls.append("reattach")
        _, stored = self.held(handles[0])
        return [Fate.done(handles[0], self.put(self.boxes["INBOX"], stored.mail), proof=Proof.COPYUID)]


@pytest.fixture
def lagging() -> House:
    house = House(personal=Lagging("personal"))
    house.personal.add_mailbox("All Mail", Role.ALL)
    return house


async def moved(house: House) -> str:
    told = await house.ask("messages_archive", messages=fill(house, 2))
    assert (told["status"], told["proof"]) == ("ok", "copyuid")
    return str(told["operation_id"])


async def test_a_call_returns_before_its_proof_and_status_raises_it(lagging: House) -> None:
    operation = await moved(lagging)
    assert (await lagging.ask("operations_status", operation_id=operation))["proof"] == "copyuid"
    lagging.personal.settled = True  # type: ignore[attr-defined]
    assert (await lagging.ask("operations_status", operation_id=operation))["proof"] == "seen"
    looks = lagging.personal.calls.count("prove")
    await lagging.ask("operations_status", operation_id=operation)
    assert lagging.personal.calls.count("prove") == looks, "what is proved is not looked for again"


async def test_the_next_start_looks_at_what_is_not_proved(lagging: House) -> None:
    operation = await moved(lagging)
    lagging.personal.settled = True  # type: ignore[attr-defined]
    await lagging.service._recover()
    fates = await lagging.journal.fates(operation)
    assert {fate.proof for fate in fates} == {Proof.SEEN}


async def test_the_process_itself_looks_when_the_server_has_had_its_time(lagging: House) -> None:
    object.__setattr__(lagging.service.world, "settings", replace(lagging.service.world.settings, prove_after=0.01))
    operation = await moved(lagging)
    lagging.personal.settled = True  # type: ignore[attr-defined]
    for task in list(lagging.service._proving._waiting):
        await task
    assert {fate.proof for fate in await lagging.journal.fates(operation)} == {Proof.SEEN}


async def test_an_orphan_is_brought_back(lagging: House) -> None:
    operation = await moved(lagging)
    lagging.personal.settled, lagging.personal.becomes = True, Proof.ORPHANED  # type: ignore[attr-defined]
    told = await lagging.ask("operations_status", operation_id=operation, items=True)
    assert {one["code"] for one in told["items"]} == {"brought_back"}
    assert held(lagging, "INBOX") == 2
    assert lagging.personal.calls.count("reattach") == 2


async def test_a_loss_is_told_at_once_and_what_lost_it_is_shut(lagging: House) -> None:
    rung: list[tuple[str, frozenset[Effect]]] = []

    async def alarm(account: str, effects: frozenset[Effect]) -> None:
        rung.append((account, effects))
        frozen = frozenset((account, effect) for effect in effects)
        lagging.policies.policy = lagging.policies.policy.with_switches(Switches(frozen=frozen))

    object.__setattr__(lagging.service.world, "alarm", alarm)
    operation = await moved(lagging)
    lagging.personal.settled, lagging.personal.becomes = True, Proof.LOST  # type: ignore[attr-defined]
    assert (await lagging.ask("operations_status", operation_id=operation))["proof"] == "lost"
    assert rung == [("personal", frozenset({Effect.ORGANIZE}))]
    told = await lagging.ask("messages_archive", messages=fill(lagging, 1))
    assert told["status"] == "refused"
    assert "message was lost" in told["why"]
    assert (await lagging.ask("messages_list"))["status"] == "ok"


async def test_uncertain_items_are_settled_by_status_and_never_repeated(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-93: look, do not repeat."""
    move = house.personal.move

    async def unsure(handles: Sequence[Handle], to: Any) -> Sequence[Fate]:
        await move(handles, to)
        return [Fate(one, Ending.UNCERTAIN, "outcome_unknown", "the answer was lost") for one in handles]

    monkeypatch.setattr(house.personal, "move", unsure)
    told = await house.ask("messages_archive", messages=fill(house, 2))
    assert (told["status"], told["uncertain"]) == ("unsure", 2)
    assert "do not repeat" in told["next"]
    status = await house.ask("operations_status", operation_id=told["operation_id"], items=True)
    assert (status["state"], status["done"]) == ("succeeded", 2)
    assert all(one["now"] for one in status["items"])
    assert held(house, "Archive") == 2


async def test_while_the_server_cannot_be_asked_it_stays_uncertain(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = fill(house, 1)

    async def unsure(*_: Any) -> Sequence[Fate]:
        return [Fate(Handle.parse(handles[0]), Ending.UNCERTAIN, "outcome_unknown", "the answer was lost")]

    async def down(*_: Any) -> Sequence[Fate]:
        raise Unavailable("no connection")

    monkeypatch.setattr(house.personal, "move", unsure)
    monkeypatch.setattr(house.personal, "prove", down)
    told = await house.ask("messages_archive", messages=handles)
    status = await house.ask("operations_status", operation_id=told["operation_id"])
    assert (status["status"], status["uncertain"]) == ("unsure", 1)
    record = await house.journal.read(told["operation_id"], house.agent)
    assert record.status is Status.PARTIALLY_SUCCEEDED
