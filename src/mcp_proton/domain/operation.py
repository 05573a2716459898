"""Operation: one thing the service can do, told once. Every surface is read off these values."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.effects import READING, Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Fate, Status
from mcp_proton.domain.plan import Impact, ReviewLine, Unfamiliar

if TYPE_CHECKING:
    from mcp_proton.domain.context import Context


class Request(BaseModel):
    """What is asked: frozen and closed. The tool's name is the class name, its description the docstring."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Result(BaseModel):
    """What is answered. Empty fields are left out of answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def ended(self) -> Status:
        """How the whole ended: an operation with a fate per item says when some, or all, were not done."""
        return Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """The word for why it did not end well, where there is one for the whole."""
        return None


@dataclass(frozen=True, slots=True)
class Finer:
    """What an operation's own `plan` adds to what the field types say.

    `effects` replaces the operation's effects for the scopes in the request; `impacts` are added as they are.
    `unfamiliar` are recipients that the owner is asked about even where sending is allowed.
    """

    effects: frozenset[Effect] | None = None
    impacts: frozenset[Impact] = frozenset()
    review: tuple[ReviewLine, ...] = ()
    unfamiliar: tuple[Unfamiliar, ...] = ()


Perform = Callable[[Any, "Context"], Awaitable[Any]]
"""Returns the operation's result; the journal family may return a whole `Outcome` instead."""
Pin = Callable[[Any, "Context"], Awaitable[Request]]
PlanFiner = Callable[[Any, "Context"], Awaitable[Finer]]
Undo = Callable[[Any, Sequence[Fate]], Sequence[Request]]
"""Returns the requests that take it back, from the request and how its items ended; none where nothing can be."""
Items = Callable[[Any], Sequence[Handle]]
"""Returns what an operation acts upon, one fate each; by default it is every message that the request names."""
Look = Callable[[Any, Sequence[Fate], float, "Context"], Awaitable[Sequence[Fate]]]
"""Looks what became of items, so many seconds ago at least, and returns their fates as they are known now."""
Happened = Callable[[Any, "Context"], Awaitable["bool | None"]]
"""Looks whether an act on no messages happened: what it was to bring about is there (True), is not (False), or who knows."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing the service can do.

    `effects` is the most it can ever do; planning refuses a plan that exceeds it. `prepares` are the effects of getting
    ready (pin, expand); where they depend on the request, `ready` says what they are. `purpose`: without this effect there
    is no use in it, so it is not shown to whom that is denied. `steers` marks the journal family: no effect on mail of its
    own, so any known caller may use it on its own records. `chunked`: it acts through `Context.batch` only, so it may go on
    in the background and be gone on with by another process; `look` settles items whose end is not known, `happened` what
    acts on no messages. `found` says, for `undo`, where messages are whose only handle the operation took away.
    `repeatable`: asked for twice it does no more than once, since it finds what is done already; one that was interrupted
    is gone on with from its start. `followed`: its answer changes as mail does, so that who may read it as a resource may be
    told when there is something new. `outlined` are the fields of a request that may be remembered with the record, where
    others hold content; None: all but the messages.
    """

    request: type[Request]
    result: type[Result]
    effects: frozenset[Effect]
    perform: Perform
    example: dict[str, Any]
    prepares: frozenset[Effect] = frozenset()
    ready: PlanFiner | None = None
    purpose: Effect | None = None
    pin: Pin | None = None
    plan: PlanFiner | None = None
    undo: Undo | None = None
    look: Look | None = None
    items: Items | None = None
    outlined: frozenset[str] | None = None
    found: Look | None = None
    happened: Happened | None = None
    chunked: bool = False
    needs: frozenset[str] = frozenset()
    audience: Audience = Audience.AGENT
    repeatable: bool = False
    steers: bool = False
    uri: str | None = None
    followed: bool = False

    @property
    def name(self) -> str:
        """The tool name: the request's class name in snake case."""
        return snake(self.request.__name__)

    @property
    def description(self) -> str:
        """The request's docstring, as one paragraph."""
        return " ".join((self.request.__doc__ or "").split())

    @property
    def reads_only(self) -> bool:
        """Whether it can change nothing anywhere."""
        return self.effects <= READING and not self.steers


@dataclass(frozen=True, kw_only=True)
class Shorthand:
    """An everyday name that expands into a request of its primitive and inherits everything else from it."""

    request: type[Request]
    into: Operation
    expand: Pin
    example: dict[str, Any]
    prepares: frozenset[Effect] = frozenset()
    ready: PlanFiner | None = None
    needs: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The tool name: the request's class name in snake case."""
        return snake(self.request.__name__)


@cache
def snake(name: str) -> str:
    """Turn `MessagesGetMany` into `messages_get_many`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
