"""The canary (N-8): what is proved, what is disproved, and that nothing but its own message is ever touched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.bridge.trying.evidence import TRIED
from mcp_proton.domain.consequences import Evidence
from mcp_proton.domain.errors import Unavailable, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Standing
from tests.contract import worlds
from tests.unit.bridge.canary.nest import Killed, nest

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.simulator import Simulator


@pytest.mark.parametrize("model", ["real", "fake"])
async def test_on_a_version_of_which_nothing_was_recorded_all_that_is_tried_is_proved(
    model: Any, tmp_path: Path
) -> None:
    """N-8: kept for that version, honoured by the effect table at once, and nothing is left or changed."""
    async with nest(tmp_path, model=model) as one:
        await one.backend.mailboxes()
        before = one.everything()
        assert one.backend.features()["move"] is Standing.UNVERIFIED
        assert one.backend.consequences().of("destroy", Role.TRASH).evidence == (Evidence.UNVERIFIED,)
        trial = await one.canary().fly()
        assert (trial.version, trial.stopped, trial.left) == ("3.27.0", None, [])
        assert {found.verb for found in trial.findings} == TRIED
        assert all(found.proved for found in trial.findings)
        assert one.findings.of("me", "3.27.0") is not None
        assert set(one.findings.of("me", "3.27.0") or ()) == TRIED
        assert one.backend.features()["move"] is Standing.AVAILABLE
        assert one.backend.consequences().of("destroy", Role.TRASH).evidence == (Evidence.LIVE,)
        health = await one.backend.health()
        assert (health.unproved, health.disproved) == (("reattach", "append"), ())
        assert one.everything() == before
        assert one.findings.trace("me") is None
        assert len(one.said) > 8, "the owner is told how far it is"


QUIRKS: dict[str, tuple[str, str]] = {
    "label_takes_place": ("label", "labels"),
    "unlabel_takes_place": ("unlabel", "labels"),
    "move_loses_place": ("move", "move"),
    "star_marks_read": ("set_flags", "flags"),
    "expunge_hides": ("destroy", "exact_removal"),
}


@pytest.mark.parametrize("version", ["03.27.00", "03.21.01", None])
@pytest.mark.parametrize("quirk", QUIRKS)
async def test_what_bridge_does_otherwise_is_disproved_and_refused_at_once(
    quirk: str, version: str | None, tmp_path: Path
) -> None:
    """N-8: also on the recorded version, and on one that does not say which it is; the rest is as it was."""
    verb, family = QUIRKS[quirk]
    async with nest(tmp_path, version=version, quirk=lambda simulator: setattr(simulator.settings, quirk, True)) as one:
        before = one.everything()
        trial = await one.canary().fly()
        (found,) = [found for found in trial.findings if not found.proved]
        assert found.verb == verb
        assert "shown in" in found.why
        assert trial.stopped == found.why
        assert one.backend.features().get(family, Standing.UNAVAILABLE) is Standing.UNAVAILABLE
        with pytest.raises(Unsupported, match="does something else"):
            one.backend.consequences().of(verb, *_roles(verb))
        assert (await one.backend.health()).disproved == (family,)
        after = one.everything()
        if quirk == "expunge_hides":
            assert len(trial.left) == 1, "what cannot be destroyed is told, and left where the owner finds it"
            after = {key: value for key, value in after.items() if key in before}
        else:
            assert trial.left == []
        assert after == before


def _roles(verb: str) -> list[Role]:
    return {
        "label": [Role.INBOX, Role.LABEL],
        "unlabel": [Role.LABEL],
        "move": [Role.INBOX, Role.ARCHIVE],
        "set_flags": [Role.INBOX],
        "destroy": [Role.TRASH],
    }[verb]


async def test_of_a_version_that_is_not_known_nothing_is_proved_for_the_next_time(tmp_path: Path) -> None:
    """N-8: another Bridge could stand there tomorrow, and say as little."""
    async with nest(tmp_path, version=None) as one:
        trial = await one.canary().fly()
        assert {found.proved for found in trial.findings} == {True}
        assert one.findings.of("me", "unknown") == {}
        assert one.backend.features()["move"] is Standing.UNVERIFIED


async def test_a_step_that_proton_refuses_proves_nothing_and_disproves_nothing(tmp_path: Path) -> None:
    """N-8: not done is not done otherwise; what was proved before stands, and nothing is left."""

    def refusing(simulator: Simulator) -> None:
        simulator.faults.fail_api("/mail/v4/messages/label", skip=1, count=1, status=422)

    async with nest(tmp_path, quirk=refusing) as one:
        before = one.everything()
        trial = await one.canary().fly()
        assert trial.stopped
        assert all(found.proved for found in trial.findings)
        assert one.everything() == before


async def test_a_bridge_that_is_not_there_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    """N-8."""
    async with nest(tmp_path) as one:
        await one.simulator.close_port()
        with pytest.raises(Unavailable):
            await one.canary().fly()
        assert one.findings.trace("me") is None


async def test_killed_at_any_pause_the_next_start_takes_everything_away(tmp_path: Path) -> None:
    """N-8: nothing of it is left, nothing else is touched, and findings made before stand."""
    stop, ended = 0, False
    while not ended:
        stop += 1
        async with nest(tmp_path / str(stop)) as one:
            before = one.everything()
            one.killed_at = stop
            try:
                await one.canary().fly()
                ended = one.pauses < stop
            except Killed:
                pass
            one.killed_at = 0
            assert await one.canary().clear() == []
            one.simulator.release_events()
            assert one.everything() == before, f"killed at pause {stop}"
            assert one.findings.trace("me") is None
    assert stop > 9


async def test_what_others_put_into_its_folder_is_left_with_the_folder(tmp_path: Path) -> None:
    """N-8: only its own message is ever touched."""
    async with nest(tmp_path) as one:
        one.killed_at = 4
        with pytest.raises(Killed):
            await one.canary().fly()
        one.killed_at = 0
        one.simulator.release_events()
        account = one.simulator.account()
        folder = next(
            label for label in account.labels.values() if label.folder and label.name.startswith("mcp-proton")
        )
        account.label([account.find("in").id], folder.id)
        one.simulator.release_events()
        left = await one.canary().clear()
        assert [line.endswith("holds something, so it was left") for line in left] == [True]
        assert one.simulator.state()["in"]["in"], "it is where it was put"
        assert one.findings.trace("me") is None


COMMANDS = [
    *(("CREATE", n) for n in (1, 2, 3)), ("RENAME", 1), ("APPEND", 1), ("UID STORE", 1), ("UID STORE", 2), ("UID COPY", 1),
    ("UID MOVE", 1), ("UID STORE", 3), ("UID EXPUNGE", 1), ("UID MOVE", 2), ("UID STORE", 4), ("UID EXPUNGE", 2),
    *(("DELETE", n) for n in (1, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("command", "n"), COMMANDS)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_stopped_at_any_command_nothing_is_left_but_what_was_there(
    when: str, command: str, n: int, tmp_path: Path
) -> None:
    """N-8: every command that changes anything, before its effect and after it; the answer never comes."""
    async with nest(tmp_path) as one:
        before = one.everything()
        one.simulator.faults.at(f"{when} {command}", n, action="delay", seconds=3600.0)
        flying = asyncio.create_task(one.canary().fly())
        while one.simulator.faults.steps:
            assert not flying.done(), "this command is part of a trial"
            await asyncio.sleep(0.01)
        flying.cancel()
        await asyncio.gather(flying, return_exceptions=True)
        assert one.findings.trace("me") is not None
        next_one = worlds.bridge_backend(one.simulator, findings=one.findings)
        try:
            one.backend, ours = next_one, one.backend
            assert await one.canary().clear() == []
        finally:
            one.backend = ours
            await next_one.aclose()
        one.simulator.release_events()
        assert one.everything() == before
