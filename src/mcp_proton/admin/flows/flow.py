"""Flow: what one program says to an MCP server, in which order, and what it makes of the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from mcp_proton.admin.programs import Program

MODERN = "2026-07-28"
"""From this version on there is no handshake: each request says who asks."""


@dataclass(frozen=True)
class Flow:
    """One program's. `before` are HTTP methods it tries first; `lists` what it lists before its first call.

    `cancels`: it takes back each call after its answer. `ends`: it ends its session. `faults`: after so many results
    in a row that are marked as errors it shuts the server out. `listing_bytes`: from there on it hides tools from its
    model; `result_characters`: from there on it cuts a result. `asks`: where it asks its user on our behalf.
    """

    seen: str
    evidence: Literal["recorded", "read", "assumed"]
    version: str
    client: dict[str, str]
    capabilities: dict[str, Any]
    prefix: str
    longest_name: int
    headers: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    lists: tuple[str, ...] = ("tools/list",)
    reads: Literal["text", "structured", "both"] = "both"
    sessions: int = 1
    speaks_http: bool = True
    cancels: bool = False
    ends: bool = True
    faults: int | None = None
    listing_bytes: int | None = None
    result_characters: int | None = None
    asks: str | None = None

    @property
    def modern(self) -> bool:
        """Whether it needs no handshake."""
        return self.version >= MODERN

    @property
    def about(self) -> str:
        """What the flow rests on, for people."""
        told = {"recorded": "as recorded from", "read": "after", "assumed": "after"}[self.evidence]
        return f"{told} {self.seen}" + ("" if self.evidence == "recorded" else ", not recorded from the program itself")


@cache
def flow(program: Program) -> Flow:
    """Return a program's flow."""
    told = yaml.safe_load(files(__package__).joinpath("recorded.yaml").read_text("utf-8"))[program.value]
    for name in ("before", "lists"):
        if name in told:
            told[name] = tuple(told[name])
    return Flow(**told)
