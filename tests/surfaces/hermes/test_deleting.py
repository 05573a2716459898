"""A real Hermes Agent asks to delete for good; the owner approves on the command line; exactly that message is gone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.hermes.script import Call, Say, Step
from tests.surfaces.hermes.trash import CONDEMNED, PROGRAM, condemning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.surfaces.hermes.agent import Hermes
    from tests.surfaces.hermes.trash import Trash

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

SERVER = [PROGRAM, "mcp", "--client", "hermes", "--profile", "full"]


def test_a_permanent_deletion_waits_for_the_owner_and_takes_exactly_that_message(hermes: Hermes, trash: Trash) -> None:
    """P-40, P-41, P-61, P-32 under the preset Assistant: asked, waited, approved with the passphrase, resumed, gone."""

    def approving(results: Sequence[str]) -> dict[str, Any]:
        """While the agent works, the owner answers in a shell of their own."""
        refused = trash.approve(trash.waiting(results))
        assert refused.returncode == 4, "without a terminal or the passphrase nobody approves"
        return trash.approved(results)

    script: list[Step] = [
        Call("messages_list", {"mailbox": "trash", "limit": 10}),
        Call("messages_destroy", lambda results: condemning(CONDEMNED, results)),
        Call("operations_resume", lambda results: {"operation_id": trash.waiting(results)}),
        Call("operations_resume", approving),
        Call("operations_resume", again),
        Say("done: {last}"),
    ]
    turn = hermes.run(SERVER, {"MCP_PROTON_HOME": str(trash.owner.home)}, script)
    (asked,) = turn.results("messages_destroy")
    early, resumed, repeated = turn.results("operations_resume")
    assert "approval_pending" in asked, turn.errors
    assert "approval_pending" in early, "asking again is no approval"
    assert re.search(r"status\W+ok\b", resumed), resumed
    assert "already_done" in repeated
    assert trash.state() == trash.without(CONDEMNED)


def again(results: Sequence[str]) -> dict[str, Any]:
    """Go on with what was gone on with already."""
    found = re.search(r"op_[a-z2-7]{16}", results[-1])
    assert found is not None, results[-1][:400]
    return {"operation_id": found[0]}
