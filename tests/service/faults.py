"""A mail account and a journal that fail at a chosen step, and the laws that hold all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_proton.domain.errors import Ambiguous, Unavailable, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Record, Status
from mcp_proton.domain.ports import Clock, Opening
from mcp_proton.testing import MemoryAccount, MemoryJournal

VERBS = ("set_flags", "move", "copy", "label", "unlabel", "destroy")
BOX_VERBS = ("create", "rename", "remove", "subscribe")


class Killed(BaseException):
    """The process is no more."""


@dataclass(frozen=True)
class Fault:
    """`when` is before or after the effect of the verb; `chunk` counts from 0."""

    kind: str
    when: str = "before"
    chunk: int = 0

    def __str__(self) -> str:
        return f"{self.kind}-{self.when}-{self.chunk}"


class FaultyAccount(MemoryAccount):
    """Fails once, at the step a test chose. `acted` counts how often each handle was acted upon."""

    fault: Fault | None = None
    killed: Callable[[], None]
    acted: Counter[Handle | str]
    chunks: int = 0

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.acted = Counter()

    def due(self, when: str) -> bool:
        return self.fault is not None and self.fault.when == when and self.fault.chunk == self.chunks

    def strike(self, handles: Sequence[Handle]) -> None:
        kind = self.fault.kind if self.fault else ""
        if kind == "killed":
            self.killed()
            raise Killed
        if kind == "lost":
            raise (
                Unavailable("the connection was lost") if self.due("before") else Ambiguous("the connection was lost")
            )
        if kind == "timeout":
            raise Ambiguous("no answer in time")
        if kind == "bye":
            raise Unavailable("the server said goodbye") if self.due("before") else Ambiguous("the server said goodbye")
        if kind == "fault":
            raise RuntimeError("a fault of ours")
        if kind == "rebuilt":
            self.rebuild(next(path for path, box in self.boxes.items() if box.mailbox.tag == handles[0].tag))
        if kind == "elsewhere":
            self.carry_off(handles[0])

    def carry_off(self, handle: Handle) -> None:
        """Somebody else moves a message, or takes its label off, with another program."""
        box, stored = self.held(handle)
        del box.mail[stored.uid]
        if box.mailbox.role is not Role.LABEL:
            self.put(self.boxes["Elsewhere"], stored.mail)


def _verb(name: str) -> Any:
    async def act(self: FaultyAccount, handles: Sequence[Handle], *arguments: Any) -> Sequence[Fate]:
        before, after = self.due("before"), self.due("after")
        if before:
            self.strike(handles)
            if self.fault is not None and self.fault.kind == "no":
                self.chunks += 1
                return [Fate(one, Ending.FAILED, "server_refused", "the server said no") for one in handles]
        self.acted.update(handles)
        fates = await getattr(MemoryAccount, name)(self, handles, *arguments)
        if after:
            self.strike(handles)
            if self.fault is not None and self.fault.kind == "no":
                self.chunks += 1
                return [
                    Fate(one, Ending.UNCERTAIN, "outcome_unknown", "no, which may not mean undone") for one in handles
                ]
        self.chunks += 1
        return list(fates)

    return act


def _box_verb(name: str) -> Any:
    async def act(self: FaultyAccount, box: Any, *arguments: Any, **more: Any) -> Any:
        before, after = self.due("before"), self.due("after")
        if before:
            self.strike([])
            if self.fault is not None and self.fault.kind == "no":
                raise Unavailable("the server said no")
        self.acted[name] += 1
        done = await getattr(MemoryAccount, name)(self, box, *arguments, **more)
        if after:
            self.strike([])
            if self.fault is not None and self.fault.kind == "no":
                raise Ambiguous("the server said no, which may not mean undone")
        return done

    return act


async def _append(self: FaultyAccount, to: Any, mail: Any, **more: Any) -> Handle:
    """Each message is a step of its own."""
    before, after = self.due("before"), self.due("after")
    number, self.chunks = self.chunks, self.chunks + 1
    if before:
        self.chunks = number
        self.strike([])
        self.chunks += 1
        if self.fault is not None and self.fault.kind == "no":
            raise Unsupported("the server said no", code="server_refused")
    self.acted["append"] += 1
    done = await MemoryAccount.append(self, to, mail, **more)
    if after:
        self.chunks = number
        self.strike([])
        self.chunks += 1
        if self.fault is not None and self.fault.kind == "no":
            raise Ambiguous("no, which may not mean undone")
    return done


FaultyAccount.append = _append  # type: ignore[method-assign]
for _name in VERBS:
    setattr(FaultyAccount, _name, _verb(_name))
for _name in BOX_VERBS:
    setattr(FaultyAccount, _name, _box_verb(_name))


class FullDisk(MemoryJournal):
    """Takes nothing more from the chosen call on: `open`, `begin`, `note` or `advance`, the so-manieth time."""

    full_at: tuple[str, int] | None = None

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.calls: Counter[str] = Counter()
        self.full = self.dead = self._inside = False

    def die(self) -> None:
        """Nothing is written by this process any more, not even its last words."""
        self.dead = True

    def _check(self, name: str) -> None:
        if self.dead:
            raise Killed
        self.full = self.full or self.full_at == (name, self.calls[name])
        self.calls[name] += 1
        if self.full:
            raise Unavailable("the store cannot be used (disk is full)", code="storage_unavailable")

    async def open(self, opening: Opening) -> Record:
        self._check("open")
        return await super().open(opening)

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        self._check("advance")
        return await super().advance(operation_id, before, after, code=code)

    async def note(self, operation_id: str, fates: Sequence[Fate]) -> None:
        if fates and not self._inside:
            self._check("note")
        await super().note(operation_id, fates)

    async def begin(
        self, operation_id: str, upto: int, fates: Sequence[Fate] = (), intents: Sequence[Fate] = ()
    ) -> bool:
        self._check("begin")
        self._inside = True  # what `begin` notes is one write with it
        try:
            return await super().begin(operation_id, upto, fates, intents)
        finally:
            self._inside = False
