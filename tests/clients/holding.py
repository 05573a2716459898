"""Whether a recorded flow is what a program said just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.admin.flows.flow import Flow

    from .door import Heard

_META = "io.modelcontextprotocol/"


def hold(flow: Flow, heard: Sequence[Heard]) -> None:
    """Hold a flow to the requests of one session. AssertionError where the program says something else."""
    opening = next(one for one in heard if one.what in ("initialize", "server/discover"))
    assert (opening.what == "server/discover") is flow.modern
    said = opening.message["params"]
    if flow.modern:
        said = {name.removeprefix(_META): value for name, value in said["_meta"].items()}
        said["capabilities"] = said["clientCapabilities"]
    assert said["protocolVersion"] == flow.version
    assert {name: said["clientInfo"].get(name) for name in flow.client} == flow.client
    assert said["capabilities"] == flow.capabilities
    for name, value in flow.headers.items():
        assert opening.headers[name] == value
    assert tuple(one.what for one in heard[: heard.index(opening)]) == flow.before
    called = [one.what for one in heard if one.what.endswith("/list") and one.what != "resources/templates/list"]
    assert sorted(set(called)) == sorted(flow.lists)
    assert ("notifications/cancelled" in {one.what for one in heard}) is flow.cancels
    if not flow.modern:
        assert (heard[-1].what == "DELETE") is flow.ends
