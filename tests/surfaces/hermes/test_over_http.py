"""A real Hermes Agent at the always-on service, configured as we print it: it asks, the owner approves, it goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_proton.admin.flows.flow import flow
from mcp_proton.admin.programs import Program
from mcp_proton.domain.review import reading_seconds
from tests.clients.door import Door
from tests.clients.holding import hold
from tests.surfaces.cli.terminal import of_owner
from tests.surfaces.http.process import Service

from .script import Call, Say, Step
from .trash import CONDEMNED, SPARED, condemning

if TYPE_CHECKING:
    from .agent import Hermes
    from .trash import Trash

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
LIST = Call("messages_list", {"mailbox": "trash", "limit": 10})


def configured(trash: Trash) -> tuple[dict[str, Any], str]:
    """Let Hermes in over HTTP; return the configuration we print for it, and its token."""
    trash.owner.run("clients", "add", "hermes", "--profile", "full")
    token = trash.owner.json("clients", "rotate", "hermes")["token"]
    printed = trash.owner.json("clients", "config", "hermes")["configuration"]
    return yaml.safe_load(printed)["mcp_servers"]["mail"], token


def test_hermes_over_http_deletes_what_the_owner_approved_and_nothing_else(hermes: Hermes, trash: Trash) -> None:
    """N-15, P-40, P-41: five refusals in a row do not lock it out; what the flow of `doctor --client` says is what it does."""
    printed, token = configured(trash)
    script: list[Step] = [
        *[Call("messages_get", {"message": "personal.aaaaaa.1-1"})] * 5,
        LIST,
        Call("messages_destroy", lambda results: condemning(CONDEMNED, results)),
        Call("operations_resume", trash.approved),
        Say("done: {last}"),
    ]
    with Service("--listen", "127.0.0.1:0", home=trash.owner.home) as service, Door(service.url) as door:
        turn = hermes.reach({**printed, "url": door.url}, script, {"MCP_PROTON_TOKEN": token})
    assert "approval_pending" in turn.results("messages_destroy")[0], turn.errors
    assert '"ok"' in turn.results("operations_resume")[0].replace("\\", "")
    assert trash.state() == trash.without(CONDEMNED)
    assert token not in str([call.result for call in turn.exchanges])
    hold(flow(Program.HERMES), door.heard)


def test_hermes_over_http_asks_its_user_and_goes_on_at_a_yes(hermes: Hermes, trash: Trash) -> None:
    """P-39, P-85, N-5: after the live check a no leaves it waiting in the owner's queue, and a yes does it, once."""
    printed, token = configured(trash)
    asked: list[str] = []
    with (
        Service("--listen", "127.0.0.1:0", home=trash.owner.home) as service,
        of_owner(trash.owner, "clients", "review", "hermes") as checking,
    ):
        shown = checking.shows(r"the number (\d\d)")
        assert shown, checking.screen
        answers = iter([False, True])

        def answering(question: str) -> bool:
            """The user reads; in the live check approves the number on the owner's terminal, then says no, then yes."""
            asked.append(question)
            time.sleep(reading_seconds(question))
            if "Live check" in question:
                return f"the number {shown[1]}" in question
            assert trash.state() == trash.before, "nothing is done before the answer"
            return next(answers)

        script: list[Step] = [
            LIST,
            Call("messages_destroy", lambda results: condemning(SPARED, results)),
            Call("operations_resume", lambda results: {"operation_id": trash.waiting(results)}),
            Call("messages_destroy", lambda results: condemning(CONDEMNED, results)),
            Say("done: {last}"),
        ]
        turn = hermes.reach({**printed, "url": service.url}, script, {"MCP_PROTON_TOKEN": token}, answering)
        assert checking.ended() == 0, checking.screen
    refused, done = turn.results("messages_destroy")
    assert "approval_pending" in refused, turn.errors
    assert "approval_pending" in turn.results("operations_resume")[0], "who was asked once is not asked again"
    assert '"ok"' in done.replace("\\", ""), done
    assert trash.state() == trash.without(CONDEMNED)
    assert len(asked) == 3 + 2
    assert CONDEMNED not in str(asked), "clients log what they ask"
    (waiting,) = trash.owner.json("approvals", "list")["operations"]
    assert waiting["operation_id"] in refused
