"""Random sessions of two clients and another device, on Proton's engine and on the simulator; `make differential` has more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcp_proton.simulator import Certificate, make_certificate
from tests.differential import left_out
from tests.differential.comparison import Disagreement, compare
from tests.differential.generator import generate
from tests.differential.script import Session
from tests.servers.bridges import SimulatedBridge

if TYPE_CHECKING:
    from tests.servers.gluon_server import GluonServer

# The first run builds the program, which takes minutes.
pytestmark = [pytest.mark.server, pytest.mark.process, pytest.mark.timeout(900)]

CHUNK = 10


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return make_certificate()


@pytest.mark.parametrize("first", range(0, 100, CHUNK))
async def test_engine_and_simulator_answer_alike_and_leave_the_account_alike(
    first: int, gluon_server: GluonServer, certificate: Certificate
) -> None:
    """N-3, N-8, N-10, N-18, B-01 to B-09: what the simulator says of Bridge is what Proton's engine does."""
    for seed in range(first, first + CHUNK):
        played = await compare(generate(seed), gluon_server, certificate)
        assert played.disagreement is None, str(played.disagreement)


async def test_a_session_on_which_they_part_is_found_and_told_with_both_answers(
    gluon_server: GluonServer, certificate: Certificate
) -> None:
    """A flag in an odd spelling is one of the things that are left out; said all the same, it is found."""
    assert any(re.search(pattern, "STORE 1 FLAGS (\\seen)") for pattern in left_out.NOT_SAID)
    session = Session("seed 0", "real", ("m0 inbox",), ('a SELECT "INBOX"', "a STORE 1 FLAGS (\\seen)"))
    played = await compare(session, gluon_server, certificate)
    assert played.disagreement is not None
    told = str(played.disagreement)
    assert "step 2: a STORE 1 FLAGS (\\seen)" in told
    assert "-* 1 FETCH (FLAGS (\\seen))" in told
    assert "+* 1 FETCH (FLAGS (\\Seen))" in told
    assert "--seed 0" in told


async def test_an_account_that_ends_otherwise_is_found(
    gluon_server: GluonServer, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session("seed 0", "real", ("m0 inbox",), ("elsewhere label m0 trash",))
    assert (await compare(session, gluon_server, certificate)).disagreement is None
    monkeypatch.setattr(SimulatedBridge, "elsewhere", lambda *_: None)
    found = (await compare(session, gluon_server, certificate)).disagreement
    assert found is not None
    assert found.step == 0
    assert "Trash" in found.engine[0]
    assert "Inbox" in found.simulator[0]


def test_the_same_seed_makes_the_same_session_and_another_seed_another() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).steps for seed in range(50)}) == 50


def test_sessions_say_everything_that_changes_mail_and_nothing_that_is_left_out() -> None:
    said = [step for seed in range(300) for step in generate(seed).steps]
    words = [
        "SELECT",
        "EXAMINE",
        "FETCH",
        "SEARCH",
        "STORE",
        "COPY",
        "MOVE",
        "EXPUNGE",
        "CLOSE",
        "UNSELECT",
        "APPEND",
        "CREATE",
        "RENAME",
        "DELETE",
        "STATUS",
        "LIST",
        "NOOP",
        "CHECK",
        "elsewhere",
        "events",
    ]
    assert [word for word in words if not any(word in step.split() for step in said)] == []
    for pattern, reason in left_out.NOT_SAID.items():
        assert reason
        assert [step for step in said if step[:2] in {"a ", "b "} and re.search(pattern, step)] == []


def test_of_an_answer_only_recent_is_left_out() -> None:
    lines = [
        "* 2 RECENT",
        "* 1 FETCH (FLAGS (\\Recent \\Seen) UID 1)",
        '* LIST (\\Marked \\Sent) "/" "Sent"',
        "* 2 EXISTS",
    ]
    assert left_out.without_recent(lines) == [
        "* 1 FETCH (FLAGS (\\Seen) UID 1)", '* LIST (\\Sent) "/" "Sent"', "* 2 EXISTS",
    ]  # fmt: skip


def test_a_disagreement_tells_the_whole_session() -> None:
    told = str(Disagreement(generate(3), 0, ["one"], ["other"]))
    assert told.startswith("seed 3, model")
    assert all(step in told for step in generate(3).steps)
