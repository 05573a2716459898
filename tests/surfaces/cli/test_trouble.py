"""Whatever stops a command is a sentence and an exit code, never a traceback; with --json it is one value with a status."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin import cli
from mcp_proton.admin.exits import MEANING, Exit
from tests.surfaces.cli.lab import CANARY, Bridge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

PROGRAM = [sys.executable, "-m", "mcp_proton"]


def test_every_exit_code_is_explained_in_the_help(owner: Owner) -> None:
    shown = owner.run("--help").out
    for code in Exit:
        assert f"{code.value:>3}  {MEANING[code]}" in shown


def test_every_command_teaches_by_its_help(owner: Owner) -> None:
    commands = [name for name in cli.app if not name.startswith("-")]
    assert len(commands) == 17
    for name in commands:
        said = owner.run(name, "--help")
        assert said.code == 0
        assert f"Usage: mcp-proton {name}" in said.out
        assert f"  mcp-proton {name}" in said.out, f"{name} shows no example"


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("frobnicate",), 2, "there is no command `frobnicate`"),
        (("activity", "--limit", "99"), 2, "--limit: must be at most"),
        (("accounts", "health", "Not A Name"), 2, "--account: does not look like one"),
        (("approvals", "show", "nonsense"), 2, "--operation-id: does not look like one"),
        (("policy", "explain", "hermes", "sned"), 2, "sned"),
        (("policy", "preview", "/nowhere/policy.toml"), 2, "no such file"),
        (("passphrase", "--file", "/nowhere/file"), 2, "no such file"),
        (("passphrase",), 2, "`--file` is needed"),
        (("clients", "remove", "hermes"), 2, "`--yes` is needed"),
        (("accounts", "remove", "personal"), 2, "`--yes` is needed"),
        (("accounts", "remove", "nobody"), 4, "there is no account `nobody`"),
        (("do", "messages_get", "personal.aaaaaa.1-1"), 4, "gone"),
    ],
)
def test_trouble_is_a_sentence(owner: Owner, bridge: Bridge, words: tuple[str, ...], code: int, complaint: str) -> None:
    owner.connect(bridge)
    said = owner.run(*words)
    assert said.code == code, said.all
    assert complaint in said.all
    assert "Traceback" not in said.all
    told = owner.json(*words)
    assert told["status"] != "ok"
    assert complaint in told["why"]


def test_a_server_that_cannot_be_reached_ends_with_its_own_code(owner: Owner) -> None:
    with Bridge() as gone:
        owner.connect(gone)
    said = owner.run("do", "mailboxes_list")
    assert said.code == 5
    assert "nothing listens there" in said.out


def test_a_fault_of_ours_quotes_nothing(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("mcp_proton.admin.configuration.folders.find", broken)
    said = owner.run("config", "paths")
    assert said.code == 70
    assert "RuntimeError in admin/configuration.py" in said.err
    assert CANARY not in said.all
    told = owner.json("config", "paths")
    assert (told["status"], told["code"]) == ("unavailable", "internal")


def test_a_port_that_is_taken_or_none_is_a_sentence(owner: Owner, bridge: Bridge) -> None:
    said = owner.run("simulator", "run", "--port", str(bridge.port), "--messages", "1")
    assert said.code == 5
    assert "in use" in said.err
    gc.collect()  # a port that was opened beside it and left open would be warned of here
    assert owner.run("simulator", "run", "--port", "70000").code == 2
    assert owner.run("setup", "--port", "70000").code == 2


def test_a_file_that_is_not_text_is_a_sentence(owner: Owner, bridge: Bridge, tmp_path: Path) -> None:
    owner.connect(bridge)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    said = owner.run("policy", "preview", tmp_path / "binary")
    assert said.code == 2
    assert "not UTF-8" in said.err


@pytest.mark.process
def test_the_real_program_answers_and_ends_quietly_when_nobody_reads(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    done = subprocess.run(
        [*PROGRAM, "do", "mailboxes_list", "--json"], env=owner.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "ok"
    assert done.stderr == ""
    for words in (["--help"], ["do", "mailboxes_list"], ["activity", "--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        closed = subprocess.run(
            [*PROGRAM, *words], env=owner.environment, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        assert (closed.returncode, closed.stderr) == (141, ""), words


@pytest.mark.process
def test_ctrl_c_and_a_stop_end_the_simulator_cleanly(owner: Owner) -> None:
    for sent in (signal.SIGINT, signal.SIGTERM):
        running = subprocess.Popen(
            [*PROGRAM, "simulator", "run", "--messages", "5", "--json"],
            env=owner.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["status"] == "ok"
        running.send_signal(sent)
        _, err = running.communicate(timeout=10)
        assert running.returncode == 0
        assert "Traceback" not in err


@pytest.mark.process
def test_ctrl_c_in_the_middle_is_told_and_coded(owner: Owner, bridge: Bridge) -> None:
    """A login that hangs: the owner gives up."""
    with Bridge() as slow:
        owner.connect(slow)
        slow.call(lambda simulator: simulator.faults.at("before LOGIN", action="delay", seconds=3.0))
        running = subprocess.Popen(
            [*PROGRAM, "accounts", "health"], env=owner.environment, stderr=subprocess.PIPE, text=True
        )
        time.sleep(2.0)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=15)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert err.strip() == "mcp-proton: interrupted"


@pytest.mark.process
def test_a_terminal_without_utf8_still_shows_mail(owner: Owner) -> None:
    environment = {**owner.environment, "PYTHONIOENCODING": "ascii"}
    words = [*PROGRAM, "do", "messages_list", "--demo", "--limit", "1"]
    plain = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert plain.returncode == 0
    assert "\\U" in plain.stdout
    told = subprocess.run([*words, "--json"], env=environment, capture_output=True, text=True, check=False)
    assert not json.loads(told.stdout)["messages"][0]["subject"].isascii()


@pytest.mark.process
def test_help_loads_neither_the_store_nor_the_mail_parser(owner: Owner) -> None:
    """Start-up is what a person waits for every time."""
    heavy = ("sqlalchemy", "fastmcp", "nh3", "pydantic", "mcp_proton.services", "mcp_proton.mime")
    code = (
        "import sys; from mcp_proton.__main__ import run; run(['--help']);"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=owner.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
