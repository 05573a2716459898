"""`simulator replay`: the recordings of a real Bridge, played from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

RECORDING = Path(__file__).parents[2] / "simulator" / "recordings" / "connect-greeting-capability.yaml"


def test_a_recording_replays_without_a_difference(owner: Owner) -> None:
    said = owner.run("simulator", "replay", RECORDING)
    assert (said.code, said.out) == (0, "")
    assert owner.json("simulator", "replay", RECORDING)["same"] is True


def test_a_difference_is_named_with_file_and_step(owner: Owner, tmp_path: Path) -> None:
    tampered = tmp_path / "tampered.yaml"
    tampered.write_text(RECORDING.read_text().replace("Proton Mail Bridge", "Some Other Server", 1))
    assert tampered.read_text() != RECORDING.read_text()
    said = owner.run("simulator", "replay", RECORDING, tampered)
    assert said.code == 1
    assert "tampered.yaml, step " in said.out
    assert RECORDING.name not in said.out
    told = owner.json("simulator", "replay", str(tampered))
    assert told["same"] is False
    assert "step" in told["differences"][0]


def test_a_file_that_is_no_recording_is_a_difference_and_one_that_is_not_there_a_slip(
    owner: Owner, tmp_path: Path
) -> None:
    letter = tmp_path / "letter.yaml"
    letter.write_text("dear: anna\n")
    said = owner.run("simulator", "replay", letter)
    assert said.code == 1
    assert "letter.yaml" in said.out
    assert owner.run("simulator", "replay", tmp_path / "none.yaml").code == 2
