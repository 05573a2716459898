"""A real Hermes Agent answers a mail: it waits, is approved at the command line, and arrives once (P-05, P-30, P-40, P-60)."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.simulator import GivenMessage, GivenUser, Simulator
from tests.surfaces.cli.lab import Owner
from tests.surfaces.hermes.script import Call, Say, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.surfaces.hermes.agent import Hermes

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

ME, BOB = "alice@proton.local", "bob@proton.local"
SERVER = [Path(sys.executable).with_name("mcp-proton"), "mcp", "--client", "hermes"]
QUESTION = (
    f"From: Bob <{BOB}>\r\nTo: {ME}\r\nSubject: Dinner\r\nMessage-ID: <question@proton.local>\r\n"
    "References: <before@proton.local>\r\nDate: Mon, 30 Nov 2026 10:00:00 +0000\r\n\r\nOn Friday at seven?\r\n"
)


@contextmanager
def two_accounts() -> Iterator[tuple[Simulator, Callable[[Callable[[], Any]], Any]]]:
    """A Bridge with two people, in a thread of its own; and how to ask something of it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    users = [
        GivenUser("alice", [ME], messages=[GivenMessage(QUESTION.encode(), places=("inbox",))]),
        GivenUser("bob", [BOB]),
    ]
    simulator = Simulator(users=users)

    async def do(work: Callable[[], Any]) -> Any:
        return work()

    def ask(work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(do(work), loop).result(30)

    asyncio.run_coroutine_threadsafe(simulator.start(), loop).result(30)
    try:
        yield simulator, ask
    finally:
        asyncio.run_coroutine_threadsafe(simulator.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def connected(owner: Owner, simulator: Simulator) -> str:
    """Let Hermes in under Assistant; return the file with the owner's passphrase."""
    owner.keep_password(simulator.password)
    account: dict[str, editing.Value] = {
        "kind": "bridge",
        "imap_port": simulator.imap_port,
        "smtp_port": simulator.smtp_port,
        "username": simulator.username,
        "secret": f"file:{owner.folders.state / 'secrets' / 'personal'}",
        "certificate": bootstrap.fingerprint(simulator.certificate_pem),
    }
    editing.add_account(owner.folders.config_file, "personal", account)
    editing.add_client(owner.folders.config_file, "hermes", {"profile": "core"})
    owner.write_policy('preset = "assistant"\n')
    file = owner.file("passphrase", "correct horse battery\n")
    assert owner.run("passphrase", "--file", file).code == 0
    return str(file)


def answering(results: Sequence[str]) -> dict[str, Any]:
    """Answer the first message of the latest result, as a model would."""
    found = re.search(r"personal\.[a-z2-7]{6}\.[A-Za-z0-9_-]+", results[-1])
    assert found is not None, results[-1][:300]
    return {"message": found[0], "text": "Friday at seven is fine."}


def test_a_reply_waits_is_approved_at_the_command_line_and_arrives_once_in_its_thread(
    hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_PROTON_HOME", str(tmp_path / "home"))
    owner = Owner(tmp_path / "home", capsys)
    environment = {"MCP_PROTON_HOME": str(owner.home)}
    with two_accounts() as (simulator, ask):
        passphrase = connected(owner, simulator)
        script: list[Step] = [Call("messages_list", {"limit": 1}), Call("mail_reply", answering), Say("asked: {last}")]
        turn = hermes.run(SERVER, environment, script)
        told = turn.results("mail_reply")[0]
        assert "approval_pending" in told, turn.errors
        assert ask(lambda: list(simulator.sent)) == []
        operation = re.search(r"op_[a-z2-7]{16}", told)
        assert operation is not None

        shown = owner.run("approvals", "show", operation[0]).out
        assert f"to: “Bob <{BOB}>”" in shown
        assert "| Friday at seven is fine." in shown
        assert owner.run("approvals", "approve", operation[0], "--passphrase-file", passphrase).code == 0

        resume = Call("operations_resume", {"operation_id": operation[0]})
        turn = hermes.run(SERVER, environment, [resume, resume, Say("done: {last}")])
        first, second = turn.results("operations_resume")
        assert '"delivery":"accepted"' in first.replace(" ", "").replace("\\", ""), turn.errors
        assert "already_done" in second

        ask(simulator.release_events)
        (gone,) = ask(lambda: list(simulator.sent))
        assert gone.recipient == BOB
        (arrived,) = ask(lambda: list(simulator.state("bob").values()))
        assert (arrived["subject"], "Inbox" in arrived["in"]) == ("Re: Dinner", True)
        assert gone.header["In-Reply-To"] == "<question@proton.local>"
        assert gone.header["References"].split()[-1] == "<question@proton.local>"
        checked = json.loads(owner.run("receipts", "show", operation[0], "--json").out)
        assert (checked["recipients"], checked["consistent"]) == ([BOB], True)
