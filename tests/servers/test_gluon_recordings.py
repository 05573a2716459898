"""Every recording of a real Bridge that speaks IMAP alone, played against Proton's engine with our account behind it.

Where they agree, what the recording shows is the engine's doing given our account, or our account's as Proton's fake
API had it. The few that differ say why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import gluon_player as player
from tests.servers.gluon_server import running

if TYPE_CHECKING:
    from tests.servers.gluon_server import GluonServer

# The first run builds the program, which takes minutes.
pytestmark = [pytest.mark.server, pytest.mark.process, pytest.mark.timeout(900)]

HERE = Path(__file__).parents[1] / "simulator" / "recordings"
# Bridge's own routines, of which the engine has no part: they are left out.
BRIDGES_OWN = {
    "sync-in-progress": "how far Bridge's first sync has come at each moment is Bridge's timing",
    "sync-resync": "how Bridge empties the engine's database under open sessions is not known",
}
# The step that differs first and the ones after it, and why that may stay.
DIFFERENT = {
    "fetch-charsets": ([8, 9], "Bridge's building of texts in a charset it doesn't know is not rebuilt here"),
    "fetch-html": ([6, 7], "Bridge's rewriting of a page that names its charset is not rebuilt here"),
    "identity-over-everything": (
        [32],
        "in the recording two mailboxes got one UIDVALIDITY, by the second they were made",
    ),
}
# Which of two sessions is told first of new mail, and so has it as \Recent, is a race in the engine.
RACES = {"idle-changes"}
TRIES = 12
# What needs a program of its own: another time zone, or a command that ends it.
ALONE = {"search-dates-host-zone", "fetch-number-too-large"}
LOGINS = {"addresses-disabled": {1: "alias@proton.local"}, "split-mode-switch": {2: "alias@proton.local"}}
PLAYED = sorted(
    path
    for path in HERE.glob("*.yaml")
    if path.stem not in ALONE | BRIDGES_OWN.keys() and "proto: smtp" not in path.read_text()
)


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_the_engine_answers_as_recorded_and_leaves_the_account_as_recorded(
    path: Path, gluon_server: GluonServer
) -> None:
    """N-3, N-8, N-10, N-18: what is claimed of Bridge holds on Proton's own engine."""
    # Time enough to see that everybody waits for a writer that waits for the API.
    pace = 0.13 if path.stem == "sync-api-unavailable" else 0.01
    expected = DIFFERENT.get(path.stem, ([], ""))[0]
    for _ in range(TRIES if path.stem in RACES else 1):
        found = player.play(path, gluon_server, logins=LOGINS.get(path.stem), pace=pace)
        if [difference.step for difference in found] == expected:
            return
    pytest.fail("\n".join(map(str, found)) or "no difference where one is known")


def test_what_is_left_out_or_differs_is_little_and_explained() -> None:
    assert len(PLAYED) > 140
    assert all(reason for _, reason in DIFFERENT.values())
    assert DIFFERENT.keys() | RACES | LOGINS.keys() <= {path.stem for path in PLAYED}


def test_dates_in_searches_follow_the_zone_of_the_host() -> None:
    with running({"TZ": "America/New_York"}) as server:
        assert player.play(HERE / "search-dates-host-zone.yaml", server) == []


def test_a_message_number_that_is_a_multiple_of_two_to_the_32_ends_the_program() -> None:
    with running() as server:
        assert player.play(HERE / "fetch-number-too-large.yaml", server, logins={1: "bob@proton.local"}) == []


def test_a_recording_that_tells_something_else_is_found_out(gluon_server: GluonServer, tmp_path: Path) -> None:
    text = (HERE / "write-expunge-inbox-orphans.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "changed.yaml"
    for old, new in (("* 1 EXPUNGE", "* 2 EXPUNGE"), ("- All Mail\n", "- All Mail\n      - Trash\n")):
        before, found, after = text.rpartition(old)
        assert found
        changed.write_text(before + new + after, encoding="utf-8")
        assert player.play(changed, gluon_server)
