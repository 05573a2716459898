"""What goes wrong on purpose: refused API calls, and named steps at which a session drops, waits, is refused or is cut."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Literal["", "after", "drop", "after-drop", "delay"]
Action = Literal["drop", "delay", "refuse", "cut", "bye", "rebuild", "wipe"]


@dataclass
class ApiFault:
    """A failure of the API: the next `count` calls (-1: all) whose path and method match, after `skip` of them went well.

    Modes: refused (default); `after`: done, then this answer; `drop`: connection broken, not done; `after-drop`: done,
    answer lost; `delay`: done after `delay` seconds.
    """

    path: re.Pattern[str]
    method: re.Pattern[str] = field(default_factory=lambda: re.compile(""))
    count: int = 1
    status: int = 500
    code: int = 2001
    message: str = "lab failure"
    mode: Mode = ""
    delay: float = 0.0
    skip: int = 0

    @classmethod
    def from_recording(cls, written: Mapping[str, object]) -> ApiFault:
        """Read the fault as recordings write it (`Path`, `Method`, `Count`, `Status`, …)."""
        delay = float(str(written.get("delay_ms", 0))) / 1000
        mode = str(written.get("Mode", ""))
        return cls(
            path=re.compile(str(written.get("Path", ""))),
            method=re.compile(str(written.get("Method", ""))),
            count=int(str(written.get("Count", 1))),
            status=int(str(written.get("Status", 500))),
            code=int(str(written.get("Code", 0))) or 2001,
            message=str(written.get("Message", "lab failure")),
            mode=mode if mode in {"after", "drop", "after-drop", "delay"} else "",  # type: ignore[arg-type] # just checked
            delay=delay,
            skip=int(str(written.get("Skip", 0))),
        )

    def takes(self, method: str, path: str) -> bool:
        """Whether this call is one of those that fail; counts it if so."""
        if self.count == 0 or not self.path.search(path) or not self.method.search(method):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1 if self.count > 0 else 0
        return True


@dataclass
class StepFault:
    """A fault at a named step: what happens the nth time a session gets there."""

    step: str
    action: Action
    n: int = 1
    seconds: float = 0.0
    text: str = "simulated fault"


@dataclass
class FaultScript:
    """The faults that are set: of the API, and of named steps (`before STORE`, `after UID MOVE`, `during FETCH`, …)."""

    api: list[ApiFault] = field(default_factory=list)
    steps: list[StepFault] = field(default_factory=list)
    api_is_down: bool = False

    def at(self, step: str, n: int = 1, *, action: Action, seconds: float = 0.0, text: str = "simulated fault") -> None:
        """At the nth time any session reaches `before VERB` or `after VERB`, do this.

        In SMTP `before DATA` is when the command came, `after DATA` when the whole text has come and nothing is done with it,
        `after acceptance` when the mail was sent (or taken for a repeat) and the 250 is still to be said.

        `drop` closes the connection without a word, `delay` waits `seconds` of the simulator's clock, `refuse` answers NO
        (in SMTP 554) with `text` (before), `cut` sends half of the answer and closes (after), `bye` sends an untagged BYE (in
        SMTP 421) and closes, `rebuild` gives every mailbox a new UIDVALIDITY and new UIDs, `wipe` takes all local data away.
        """
        self.steps.append(StepFault(step.lower(), action, n, seconds, text))

    def due(self, step: str) -> StepFault | None:
        """The fault to carry out at this step now, if any."""
        for fault in self.steps:
            if fault.step == step.lower():
                fault.n -= 1
                if fault.n == 0:
                    self.steps.remove(fault)
                    return fault
        return None

    def fail_api(self, path: str, *, method: str = "", **how: object) -> ApiFault:
        """Make API calls fail; the keywords are ApiFault's. Returns the fault, so that `api.remove` can end it.

        Sending makes these: `POST /mail/v4/messages` (a draft, or a search for a parent), `POST /mail/v4/attachments`,
        `GET /core/v4/keys`, `GET /contacts/v4/emails`, `POST /mail/v4/messages/ID` (the sending call).
        """
        fault = ApiFault(re.compile(path), re.compile(method), **how)  # type: ignore[arg-type] # keywords are checked by the dataclass
        self.api.append(fault)
        return fault

    def clear(self) -> None:
        """End all faults."""
        self.api.clear()
        self.steps.clear()
        self.api_is_down = False
