"""`do <operation>`: every operation an agent has, typed by the owner, with plain output for a pipe and JSON for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin import operate, reviewing
from mcp_proton.admin.printing import Printer
from mcp_proton.domain.caller import Audience
from mcp_proton.domain.caller import owner as the_owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.policy.model import Policy
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.fields import OneHandle
from mcp_proton.testing import (
    FixedClock,
    FixedPolicy,
    MemoryAccount,
    MemoryAccounts,
    MemoryArtifacts,
    MemoryJournal,
)

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Bridge, Owner


def test_every_operation_of_an_agent_is_a_command() -> None:
    """P-01: nobody keeps a second list."""
    names = {one.name for one in registry.load().for_audience(Audience.AGENT)}
    assert names <= set(operate.app)


@pytest.fixture
def connected(owner: Owner, bridge: Bridge) -> Owner:
    owner.connect(bridge)
    return owner


def test_required_arguments_stand_in_their_place_and_the_rest_are_flags(connected: Owner) -> None:
    found = connected.json("do", "messages_search", "is:unread", "--limit", "2", "--order", "oldest")
    assert len(found["messages"]) == 2
    handles = [one["handle"] for one in found["messages"]]
    assert connected.json("do", "messages_get", handles[0], "--view", "summary")["handle"] == handles[0]
    both = connected.json("do", "messages_get_many", *handles)
    assert [one["handle"] for one in both["messages"]] == handles
    listed = connected.json("do", "messages_list", "--mailbox", "archive", "--limit", "1")
    assert len(listed["messages"]) == 1


def test_a_pipe_gets_tab_separated_rows_under_their_names(connected: Owner) -> None:
    lines = connected.run("do", "messages_list", "--limit", "3").out.splitlines()
    assert lines[0].split("\t")[:4] == ["handle", "date", "from", "subject"]
    assert all(len(line.split("\t")) == len(lines[0].split("\t")) for line in lines[:4])


def test_a_name_may_be_typed_with_hyphens(connected: Owner) -> None:
    assert connected.json("do", "mailboxes-overview")["mailbox"] == "INBOX"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("messages_get", "nohandle"), "--message: this is not a handle"),
        (("messages_get",), "`--message` is missing"),
        (("messages_list", "--limit", "500"), "--limit: must be at most"),
        (("messages_list", "--limit", "many"), "--limit"),
        (("messages_list", "--mailbx", "inbox"), "there is no option `--mailbx`"),
        (("messages_list", "inbox"), "`inbox` is one word too many"),
        (("messages_lst",), "there is no command `messages_lst`"),
    ],
)
def test_a_slip_of_the_pen_is_explained(owner: Owner, words: tuple[str, ...], complaint: str) -> None:
    said = owner.run("do", *words)
    assert said.code == 2
    assert complaint in said.err
    told = owner.json("do", *words)
    assert told["status"] == "refused"
    assert complaint in told["why"]


def test_before_an_account_is_connected_the_way_to_one_is_named(owner: Owner) -> None:
    said = owner.run("do", "mailboxes_overview")
    assert said.code == 4
    assert "mcp-proton setup" in said.err
    assert "--demo" in said.err


def test_the_demonstration_needs_no_setup(owner: Owner) -> None:
    assert owner.json("do", "mailboxes_overview", "--demo")["total"] > 0
    assert not owner.home.exists()


def test_what_is_not_there_ends_with_its_own_code(connected: Owner) -> None:
    assert connected.json("do", "messages_list", "--mailbox", "Nowhere")["status"] == "not_found"
    assert connected.run("do", "messages_list", "--mailbox", "Nowhere").code == 4


def test_escape_sequences_never_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was missed before: a terminal obeys control characters, wherever they come from."""
    printer = Printer()
    printer.table([{"subject": "\x1b]0;owned\x07hello\x9b31m \u202eevil"}])
    printer.line("\x1b[31mred")
    printer.remark("\x1b[2J")
    printer.answer({"status": "ok", "text": "one\ntwo\x1b[1A"})
    out, err = capsys.readouterr()
    assert "\\x1b]0;owned" in out
    assert not set(out + err) & set("\x1b\x07\x9b\u202e")


class ThingsDestroy(Request):
    """Destroy a message for good."""

    message: OneHandle


async def destroy(request: ThingsDestroy, ctx: object) -> Result:
    return Result()


DESTROYING = Operation(
    request=ThingsDestroy,
    result=Result,
    effects=frozenset({Effect.DESTROY}),
    perform=destroy,
    example={"message": "personal.ei5nnz.sd2egw-2n9c"},
)


@pytest.mark.parametrize(("yes", "status"), [(True, "ok"), (False, "approval_pending")])
async def test_what_cannot_be_taken_back_needs_a_second_answer_of_the_owner(yes: bool, status: str) -> None:
    """Without a terminal and without --yes it is left waiting; with it it is done once."""
    account, clock = MemoryAccount("personal"), FixedClock()
    handle = account.add("INBOX", b"Subject: x\r\n\r\nx\r\n")
    world = World(
        catalog=registry.collect([*registry.load(), DESTROYING]),
        accounts=MemoryAccounts(account),
        policies=FixedPolicy(Policy()),
        journal=MemoryJournal(clock),
        artifacts=MemoryArtifacts(),
        clock=clock,
    )
    service = MailService(world)
    asked = await service.submit(the_owner(), ThingsDestroy(message=str(handle)))
    assert asked.status == "approval_pending"
    ended = await reviewing.answered(service, asked, Printer(), yes=yes)
    assert ended.status == status
