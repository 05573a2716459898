"""An account, a journal and a memory of sendings that fail at a chosen step of sending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_proton.domain.errors import Ambiguous, Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outgoing import Delivery, Octets, Repetition, Submission, Trace
from mcp_proton.domain.sendings import Sending
from mcp_proton.services.in_memory.sendings import InMemory
from mcp_proton.testing import MemoryAccount, MemoryOutgoing

from .faults import Killed

SERVER_STEPS = ("identities", "capacity", "repetition", "submit", "trace", "append", "set_flags")
STORE_STEPS = ("begin", "write")
DONE_BEFORE_LEAVING = frozenset({"identities", "capacity", "repetition"})


@dataclass(frozen=True)
class SendFault:
    """A step, what goes wrong, and whether before or after its effect."""

    step: str
    kind: str
    when: str

    def __str__(self) -> str:
        return f"{self.step}-{self.kind}-{self.when}"


class Machine:
    """What fails: once, at one step. `submitted` counts the mails handed over, `dead`: this process writes nothing more."""

    def __init__(self) -> None:
        self.fault: SendFault | None = None
        self.dead = False
        self.struck = False
        self.submitted = 0
        self.calls: Counter[str] = Counter()

    def restart(self) -> None:
        """A new process; the trouble is over."""
        self.fault, self.dead = None, False

    def at(self, step: str, when: str) -> None:
        """Fail here, if it is here that it fails."""
        if self.dead:
            raise Killed
        if when == "before":
            self.calls[step] += 1
        fault = self.fault
        if fault is None or self.struck or (fault.step, fault.when) != (step, when):
            return
        self.struck = True
        match fault.kind:
            case "killed":
                self.dead = True
                raise Killed
            case "lost":
                raise (
                    Unavailable("the connection was lost") if when == "before" else Ambiguous("the connection was lost")
                )
            case "timeout":
                raise Ambiguous("no answer in time")
            case "fault":
                raise RuntimeError("a fault of ours")
            case "full":
                self.struck = False  # the disk stays full
                raise Unavailable("the store cannot be used (disk is full)", code="storage_unavailable")


class FaultyOutgoing(MemoryOutgoing):
    """The power to send, failing."""

    machine: Machine

    async def capacity(self) -> Any:
        self.machine.at("capacity", "before")
        return await super().capacity()

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        self.machine.at("repetition", "before")
        return await super().repetition(recipients, mail)

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        machine = self.machine
        machine.at("submit", "before")
        fault = machine.fault
        refuses = fault is not None and (fault.step, fault.kind) == ("submit", "no")
        if refuses and fault is not None and fault.when == "before":
            return Submission(Delivery.NOT_SENT, code="refused_by_server", why="no")
        machine.submitted += 1
        done = await super().submit(sender, recipients, mail)
        machine.at("submit", "after")
        return Submission(Delivery.UNKNOWN, done.recipients, "unclear_answer", "done, then no") if refuses else done

    async def trace(self, message_id: str, since: datetime) -> Trace:
        self.machine.at("trace", "before")
        found = await super().trace(message_id, since)
        self.machine.at("trace", "after")
        return found


class FaultySender(MemoryAccount):
    """An account whose sending fails."""

    def __init__(self, name: str, machine: Machine) -> None:
        super().__init__(name)
        self.machine = machine
        self.outgoing = FaultyOutgoing(self)
        self.outgoing.machine = machine

    async def identities(self) -> Any:
        self.machine.at("identities", "before")
        return await super().identities()

    async def append(self, *arguments: Any, **more: Any) -> Handle:
        fault = self.machine.fault
        self.machine.at("append", "before")
        if fault is not None and (fault.step, fault.kind, fault.when) == ("append", "no", "before"):
            raise Unavailable("the server said no", code="refused_by_server")
        done = await super().append(*arguments, **more)
        self.machine.at("append", "after")
        if fault is not None and (fault.step, fault.kind, fault.when) == ("append", "no", "after"):
            raise Ambiguous("the server said no, which may not mean undone")
        return done

    async def set_flags(self, *arguments: Any) -> Any:
        self.machine.at("set_flags", "before")
        done = await super().set_flags(*arguments)
        self.machine.at("set_flags", "after")
        return done


class FaultySendings(InMemory):
    """A memory of sendings on a disk that fills up, or in a process that dies."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    async def begin(self, sending: Sending) -> None:
        self._machine.at("begin", "before")
        await super().begin(sending)
        self._machine.at("begin", "after")

    async def write(self, sending: Sending) -> None:
        self._machine.at("write", "before")
        await super().write(sending)
        self._machine.at("write", "after")
