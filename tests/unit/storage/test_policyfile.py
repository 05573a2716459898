"""The policy file: read again when it changes, never lost when an edit breaks it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_proton.domain.limits import Switches
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.storage.access.policyfile import PolicyFile, PolicyInForce
from mcp_proton.storage.files import write_private


@pytest.fixture
def policy_place(tmp_path):
    path = tmp_path / "policy.toml"
    write_private(path, b'preset = "assistant"\n')
    return path


def opened(policy_place: Path) -> PolicyFile[Policy]:
    reader = PolicyReader(Path("/home/me"))
    return PolicyFile(policy_place, policy_place.parent / "state" / "last-good.toml", reader.read, Policy())


def preset_of(policy: Policy) -> list[Preset]:
    return [choice.preset for choice in policy.presets]


def test_an_edit_holds_from_the_next_look_on(policy_place):
    """P-38."""
    file = opened(policy_place)
    assert preset_of(file.current()) == [Preset.ASSISTANT]
    write_private(policy_place, b'preset = "reader"\n')
    assert preset_of(file.current()) == [Preset.READER]
    assert file.problem is None


def test_the_same_value_is_returned_while_nothing_changes(policy_place):
    file = opened(policy_place)
    assert file.current() is file.current()


def test_an_edit_in_place_of_the_same_size_is_seen(policy_place):
    file = opened(policy_place)
    write_private(policy_place, b'preset = "reader" # 123\n')
    assert preset_of(file.current()) == [Preset.READER]
    before = policy_place.stat()
    with policy_place.open("r+b") as handle:
        handle.write(b'preset = "custom" # 123\n')
    os.utime(policy_place, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert preset_of(file.current()) == [Preset.CUSTOM]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (b'# a word\npreset = "raeder"\n', "policy.toml, line 2: preset: must be one of"),
        (b'preset = "reader\n', "policy.toml, line 1: is not TOML"),
        (b"\n\xff", "policy.toml, line 2: is not UTF-8"),
        (b"#" * (1 << 20) + b"#", "policy.toml: is larger than 1 MiB"),
    ],
)
def test_a_broken_edit_leaves_the_last_good_policy_in_force_and_is_visible(policy_place, broken, told):
    file = opened(policy_place)
    file.current()
    write_private(policy_place, broken)
    assert preset_of(file.current()) == [Preset.ASSISTANT]
    assert file.problem.startswith(told)
    write_private(policy_place, b'preset = "reader"\n')
    assert preset_of(file.current()) == [Preset.READER]
    assert file.problem is None


def test_the_last_good_policy_survives_a_restart_with_a_broken_file(policy_place):
    opened(policy_place).current()
    write_private(policy_place, b"preset = 3\n")
    again = opened(policy_place)
    assert preset_of(again.current()) == [Preset.ASSISTANT]
    assert "line 1: preset" in again.problem


def test_a_broken_file_without_a_good_one_before_allows_nothing(policy_place):
    write_private(policy_place, b"preset = 3\n")
    file = opened(policy_place)
    assert file.current() == Policy()
    assert file.problem


def test_a_file_that_is_gone_takes_all_rights_away_for_good(policy_place):
    """P-22."""
    file = opened(policy_place)
    file.current()
    policy_place.unlink()
    assert file.current() == Policy()
    write_private(policy_place, b"broken =\n")
    assert file.current() == Policy()
    assert opened(policy_place).current() == Policy()


def test_a_file_that_others_may_write_is_a_broken_edit(policy_place):
    file = opened(policy_place)
    file.current()
    policy_place.write_text('preset = "autonomous"\n')
    policy_place.chmod(0o666)
    assert preset_of(file.current()) == [Preset.ASSISTANT]
    assert "can be written by others" in file.problem
    assert preset_of(opened(policy_place).current()) == [Preset.ASSISTANT]


def test_a_state_folder_that_cannot_be_written_does_not_stop_reading(policy_place):
    (policy_place.parent / "state").write_text("a file where the folder should be")
    assert preset_of(opened(policy_place).current()) == [Preset.ASSISTANT]


class Board:
    def __init__(self) -> None:
        self.now = Switches()

    async def current(self) -> Switches:
        return self.now


async def test_switches_are_joined_with_the_file_and_seen_at_once(policy_place):
    board = Board()
    source = PolicyInForce(opened(policy_place), board, Policy.with_switches)
    first = await source.current()
    assert await source.current() is first
    board.now = Switches(paused_clients=frozenset({"hermes"}))
    assert (await source.current()).paused_clients == {"hermes"}
    write_private(policy_place, b'preset = "reader"\n')
    second = await source.current()
    assert (second.presets, second.paused_clients) == ((Choice(Preset.READER),), {"hermes"})
    write_private(policy_place, b"preset = 3\n")
    assert (await source.current()).presets == (Choice(Preset.READER),)
    assert "preset" in source.problem
