"""Bridge and the API before Proton's engine: events, failures, restarts, address modes; and the program itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.simulator.given import GivenMessage, GivenUser
from tests.servers import gluon_build as program
from tests.servers.append import AppendRefusedError
from tests.servers.gluon_server import Gluon, GluonServer, OrderRefusedError
from tests.servers.gluon_session import login, places, subjects, uidvalidity

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first run builds the program, which takes minutes.
pytestmark = [pytest.mark.server, pytest.mark.process, pytest.mark.timeout(900)]

MAIL = (
    b"From: Bob <bob@example.com>\nTo: alice@proton.local\nSubject: %s\nDate: Mon, 02 Jan 2023 10:00:00 +0000\n\nHi\n"
)


def mail(key: str, **how: Any) -> GivenMessage:
    return GivenMessage(MAIL % key.encode(), key=key, **how)


@pytest.fixture
def bridge(gluon_server: GluonServer) -> Iterator[Gluon]:
    """Two mails in INBOX."""
    with gluon_server.bridge([GivenUser("alice", ["alice@proton.local"], [], [mail("old"), mail("new")])]) as one:
        yield one


def test_changes_elsewhere_wait_for_events_and_come_by_themselves_only_when_told_to(gluon: Gluon) -> None:
    gluon.deliver(MAIL % b"m")
    time.sleep(0.3)
    assert subjects(gluon, "INBOX") == set()
    gluon.events_every(0.05)
    deadline = time.monotonic() + 10
    while not (found := subjects(gluon, "INBOX")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == {"m"}


def test_a_failed_second_call_of_a_move_is_a_no_though_the_move_is_done(bridge: Gluon) -> None:
    bridge.fail("messages/unlabel", status=422, code=2011, message="Too late")
    with login(bridge, "INBOX") as session, pytest.raises(AppendRefusedError) as refused:
        session.command(b"UID MOVE 1 Archive")
    text = "messages/unlabel: Too late (Code=2011, Status=422)"
    assert str(refused.value).startswith("a3 NO unlabeling messages: 422 PUT https://")
    assert str(refused.value).endswith(text)
    assert places(bridge, "new") == {"Archive"}


@pytest.mark.parametrize(
    ("how", "tries", "is_done", "is_ok"),
    [
        ({"status": 500}, 1, False, False), ({"status": 500, "mode": "after"}, 1, True, False),
        ({"mode": "drop"}, 2, True, True), ({"mode": "after-drop"}, 2, True, True), ({"status": 401}, 2, True, True),
        ({"status": 503}, 2, True, True), ({"status": 503, "count": -1}, 4, False, False),
        ({"mode": "delay", "delay": 0.2}, 1, True, True),
    ],
)  # fmt: skip
def test_bridge_repeats_what_broke_or_was_put_off_and_nothing_else(
    bridge: Gluon, how: dict[str, Any], tries: int, is_done: bool, is_ok: bool
) -> None:
    bridge.fail("messages/read", **how)
    bridge.calls()
    with login(bridge, "INBOX") as session:
        try:
            session.command(b"UID STORE 1 +FLAGS (\\Seen)")
            answered_ok = True
        except AppendRefusedError:
            answered_ok = False
    assert bridge.calls().count("PUT /mail/v4/messages/read") == tries
    assert bridge.state()["new"]["unread"] is not is_done
    assert answered_ok is is_ok


def test_a_failure_at_the_second_page_of_150_leaves_the_first_one_done(gluon: Gluon) -> None:
    gluon.load(mail(f"m{number}") for number in range(200))
    gluon.events()
    gluon.fail("messages/read", mode="delay")
    gluon.fail("messages/read", status=422)
    with login(gluon, "INBOX") as session, pytest.raises(AppendRefusedError, match="NO 422 PUT"):
        session.command(b"UID STORE 1:* +FLAGS (\\Seen)")
    assert sum(not one["unread"] for one in gluon.state().values()) == 150


def test_a_restart_keeps_uids_and_local_flags_and_a_repair_does_not(bridge: Gluon) -> None:
    before = uidvalidity(bridge)
    with login(bridge, "INBOX") as session:
        session.command(b"UID MOVE 2 Archive")
        session.command(b"UID STORE 1 +FLAGS (Keyword)")
        bridge.restart()
        with pytest.raises((AppendRefusedError, OSError)):
            session.command(b"NOOP")
    assert uidvalidity(bridge) == before
    with login(bridge, "INBOX") as session:
        assert b"* SEARCH 1\r\n" in session.command(b"UID SEARCH KEYWORD Keyword")
    bridge.repair()
    assert uidvalidity(bridge) != before
    with login(bridge, "INBOX") as session:
        assert b"* SEARCH\r\n" in session.command(b"UID SEARCH KEYWORD Keyword")


def test_new_uidvalidities_end_the_sessions_that_have_a_mailbox_open(bridge: Gluon) -> None:
    before = uidvalidity(bridge)
    with login(bridge, "INBOX") as session:
        bridge.renumber()
        time.sleep(0.1)
        assert session.first_line_of(b"NOOP") == b"* BYE IMAP session state is inconsistent, please re-login.\r\n"
    assert uidvalidity(bridge) != before


def test_without_network_the_port_is_closed_and_signed_out_nobody_may_log_in(bridge: Gluon) -> None:
    before = uidvalidity(bridge)
    bridge.network(on=False)
    with pytest.raises(ConnectionRefusedError):
        login(bridge)
    bridge.network(on=True)
    bridge.sign_out()
    with pytest.raises(AppendRefusedError, match="no such user"):
        login(bridge)
    bridge.deliver(MAIL % b"meanwhile")
    bridge.sign_in()
    assert uidvalidity(bridge) == before
    assert "meanwhile" in subjects(bridge, "INBOX")


def test_in_split_mode_each_address_sees_its_own_mail(gluon_server: GluonServer) -> None:
    messages = [mail("first"), mail("second", address="b@proton.local")]
    user = GivenUser("alice", ["a@proton.local", "b@proton.local"], [], messages)
    with gluon_server.bridge([user], mode="split") as one:
        assert subjects(one, "INBOX") == {"first"}
        one.username = "b@proton.local"
        assert subjects(one, "INBOX") == {"second"}
        one.switch_mode("combined")
        assert subjects(one, "INBOX") == {"first", "second"}


def test_an_order_that_makes_no_sense_is_refused_in_words(gluon: Gluon) -> None:
    with pytest.raises(OrderRefusedError, match='delete: alice has no message "nobody"'):
        gluon.elsewhere("delete", "nobody")
    with pytest.raises(OrderRefusedError, match="no such mode: sideways"):
        gluon.fail("x", mode="sideways")  # type: ignore[arg-type] # the point of it


# -- the program


def test_underneath_is_a_database_and_a_file_a_message_and_both_go_with_the_bridge(gluon_server: GluonServer) -> None:
    data = gluon_server.folder / "data"
    before = set(data.iterdir())
    user = GivenUser("alice", ["alice@proton.local"], [], [mail(f"m{number}") for number in range(7)])
    with gluon_server.bridge([user]):
        (made,) = set(data.iterdir()) - before
        assert len([one for one in (made / "messages").rglob("*") if one.is_file()]) == 7
        assert any(one.read_bytes()[:15] == b"SQLite format 3" for one in (made / "database").rglob("*.db"))
    assert set(data.iterdir()) == before


def test_the_program_dies_with_the_process_that_started_it() -> None:
    script = (
        "from tests.servers.gluon_server import running\n"
        "with running() as server: print(server.folder, flush=True); input()"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdin is not None
    with parent.stdout, parent.stdin:
        folder = Path(parent.stdout.readline().strip())
        assert len(programs_of(folder)) == 1
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(10)
    deadline = time.monotonic() + 10
    while (left := programs_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert not (folder / "data").exists()
    shutil.rmtree(folder)


def programs_of(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if words.startswith(str(folder)):
            found.append(words)
    return found


def test_without_go_it_is_said_what_lacks_and_that_the_engine_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program, "_GO_HOME", tmp_path / "go")
    monkeypatch.setattr(program, "_CACHE", tmp_path / "cache")
    assert program.main() == 0
    assert "left out: this machine lacks Go 1.24 or newer and a C compiler" in capsys.readouterr().out
    with pytest.raises(program.CannotBuildError, match=r"Go 1\.24 or newer"):
        program.build()


def test_the_program_is_built_anew_when_a_source_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = tmp_path / "gluon"
    shutil.copytree(Path(program.__file__).parent / "gluon", sources)
    built = program.program()
    monkeypatch.setattr(program, "_SOURCES", sources)
    assert program.program() == built
    with (sources / "api.go").open("a") as source:
        source.write("// another word\n")
    assert program.program() != built
