"""An agent's question and the owner's answer at the command line (P-30, P-40, P-41)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton import bootstrap
from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.services.operations.journal import OperationsResume, OperationsStatus
from mcp_proton.services.operations.reading import MessagesRaw
from mcp_proton.services.presenting.answers import answer

if TYPE_CHECKING:
    from mcp_proton.domain.operation import Request
    from tests.surfaces.cli.lab import Bridge, Owner

PASSPHRASE = "correct horse battery"


@pytest.fixture
def passphrase(owner: Owner, bridge: Bridge) -> str:
    """A connected owner with a passphrase; the file that holds it."""
    owner.connect(bridge)
    file = owner.file("passphrase", PASSPHRASE + "\n")
    assert owner.run("passphrase", "--file", file).code == 0
    return str(file)


def as_agent(owner: Owner, request: Request) -> dict[str, Any]:
    """What an agent over MCP would be answered, in a process of its own."""

    async def ask() -> dict[str, Any]:
        async with bootstrap.real(owner.environment) as running:
            return answer(await running.service.submit(Caller("hermes", Audience.AGENT, Surface.TOOL), request))

    return asyncio.run(ask())


def asked(owner: Owner) -> str:
    """Let the agent ask for something that needs the owner; return the operation's id."""
    handle = owner.json("do", "messages_list", "--limit", "1")["messages"][0]["handle"]
    told = as_agent(owner, MessagesRaw(message=handle, save=True))
    assert told["status"] == "approval_pending"
    return str(told["operation_id"])


def test_the_owner_approves_and_the_agent_goes_on_once(owner: Owner, passphrase: str) -> None:
    """P-40: asked by an agent, shown and approved by the owner, done once, seen in the activity."""
    operation = asked(owner)
    assert as_agent(owner, OperationsResume(operation_id=operation))["status"] == "approval_pending"

    waiting = owner.json("approvals", "list")["operations"]
    assert [(one["operation_id"], one["client"], one["state"]) for one in waiting] == [(operation, "hermes", "pending")]
    shown = owner.json("approvals", "show", operation)
    assert shown["client"] == "hermes"
    assert any("file" in line["label"] for line in shown["lines"])
    assert operation in owner.run("approvals", "list").out
    assert "hermes asks for messages_raw" in owner.run("approvals", "show", operation).out

    approved = owner.json("approvals", "approve", operation, "--passphrase-file", passphrase)
    assert (approved["status"], approved["state"]) == ("ok", "approved")

    assert as_agent(owner, OperationsResume(operation_id=operation))["status"] == "ok"
    again = as_agent(owner, OperationsResume(operation_id=operation))
    assert again["code"] == "already_done"
    assert owner.json("approvals", "list").get("operations", []) == []
    done = [one for one in owner.json("activity")["operations"] if one["operation_id"] == operation]
    assert [(one["client"], one["state"]) for one in done] == [("hermes", "succeeded")]


def test_the_owner_denies(owner: Owner, passphrase: str) -> None:
    operation = asked(owner)
    said = owner.run("approvals", "deny", operation)
    assert (said.code, said.out) == (0, "denied: it will not happen\n")
    assert as_agent(owner, OperationsResume(operation_id=operation))["code"] == "approval_denied"
    said = owner.run("approvals", "approve", operation, "--passphrase-file", passphrase)
    assert said.code == 4, "a denial is not taken back by an approval"


def test_without_a_terminal_or_the_passphrase_nothing_is_approved(owner: Owner, passphrase: str) -> None:
    """P-41: neither knowing the id nor running the command is authority."""
    operation = asked(owner)
    said = owner.run("approvals", "approve", operation)
    assert said.code == 4
    assert "needs a terminal, or --passphrase-file" in said.out
    wrong = owner.file("wrong", "not the passphrase\n")
    said = owner.run("approvals", "approve", operation, "--passphrase-file", wrong)
    assert said.code == 4
    assert "not the owner passphrase" in said.out
    assert as_agent(owner, OperationsStatus(operation_id=operation))["state"] == "pending"


def test_where_no_passphrase_was_set_none_is_right(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    operation = asked(owner)
    empty = owner.file("empty", "\n")
    assert owner.run("approvals", "approve", operation, "--passphrase-file", empty).code == 4


def test_the_passphrase_is_kept_as_a_hash_and_cannot_be_short(owner: Owner, passphrase: str) -> None:
    kept = (owner.folders.state / "owner-passphrase").read_text()
    assert PASSPHRASE not in kept
    assert kept.startswith("scrypt ")
    said = owner.run("passphrase", "--file", owner.file("short", "abc\n"))
    assert said.code == 2
    assert "at least" in said.err
    assert (owner.folders.state / "owner-passphrase").read_text() == kept


def test_an_operation_that_is_not_there_is_not_found(owner: Owner, passphrase: str) -> None:
    for command in ("show", "deny"):
        assert owner.run("approvals", command, "op_aaaaaaaaaaaaaaaa").code == 4
    assert owner.run("approvals", "show", "nonsense").code == 2


def test_nothing_waiting_is_said_in_a_word(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)
    said = owner.run("approvals", "list")
    assert (said.code, said.out, said.err) == (0, "", "nothing waits for you\n")
