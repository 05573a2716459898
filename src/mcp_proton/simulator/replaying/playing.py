"""One play of a recording: its steps in order, against a simulator made for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.clock import WoundClock
from mcp_proton.simulator.replaying.checks import Checks
from mcp_proton.simulator.replaying.conversing import Conversations
from mcp_proton.simulator.replaying.happenings import Happenings, UnknownHappening
from mcp_proton.simulator.replaying.matching import Names
from mcp_proton.simulator.replaying.recording import Step
from mcp_proton.simulator.replaying.settling import connects
from mcp_proton.simulator.replaying.timing import FirstSync
from mcp_proton.simulator.replaying.together import in_order_of_start
from mcp_proton.simulator.replaying.winding import Winding
from mcp_proton.simulator.server import Simulator

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.certificate import Certificate
    from mcp_proton.simulator.given import GivenUser
    from mcp_proton.simulator.replaying.line import Line
    from mcp_proton.simulator.replaying.recording import Recording

Found = tuple[int, str, str, str]
_EVENT_PERIOD = 3.0
_EVIDENCE = frozenset({"note", "api calls"})
_MAKES_UIDVALIDITY_ANEW = frozenset({"bridge restarts", "mode", "bridge"})


class Player:
    """Plays a recording once; `logins` says which address the nth opened connection uses for `{user}`."""

    def __init__(self, recorded: Recording, certificate: Certificate, logins: dict[int, str]) -> None:
        self._recorded = recorded
        self._names = Names()
        self._lines: dict[str, Line] = {}
        self._found: list[Found] = []
        self._step = 0
        is_early = self._begins_before_opening()
        clock = WoundClock()
        self._simulator = Simulator(
            users=[_signed_in(user, logins) for user in recorded.users],
            mode="split" if recorded.mode == "split" else "combined",
            model="fake",
            clock=clock,
            certificate=certificate,
            zone=recorded.environment.get("TZ", "UTC"),
            complete_first_sync=not is_early,
        )
        self._simulator.settings.show_all_mail = recorded.environment.get("LAB_SHOW_ALL_MAIL", "1") != "0"
        self._winding = Winding(self._simulator, clock, self._lines, _event_period(recorded))
        self._happenings = Happenings(self._simulator)
        self._checks = Checks(self._simulator, self._names, self._differs)
        self._conversations = Conversations(
            recorded, self._simulator, self._names, self._lines, self._winding, logins, self._differs
        )
        self._conversations.first_sync = FirstSync(self._simulator) if is_early else None

    def _begins_before_opening(self) -> bool:
        first = next((step for step in self._recorded.steps if "c" in step or "open" in step), None)
        return first is not None and "c" in first

    async def play(self) -> list[Found]:
        """Play all steps; returns the differences as (step, what, recorded, replayed)."""
        async with self._simulator:
            self._name_messages()
            for step in self._recorded.steps:
                self._step = step.number
                try:
                    await self._do(step)
                except (LookupError, ValueError, TypeError, AttributeError, OSError) as error:
                    self._differs("this step can't be replayed", sorted(step.content), repr(error))
            for letter in list(self._lines):
                await self._conversations.close(letter)
        return self._found

    def _differs(self, what: str, expected: object, got: object) -> None:
        self._found.append((self._step, what, str(expected), str(got)))

    def _name_messages(self) -> None:
        for user in self._simulator.users:
            served = {one.remote_id: one for tree in user.trees.values() for one in tree.view.messages.values()}
            for message in user.account.messages.values():
                if message.key:
                    self._names.values[f"id:{message.key}"] = message.id
                if message.key and message.id in served:
                    self._names.values[f"the gluon id of {message.key}"] = served[message.id].gluon_id

    # -- steps

    async def _do(self, step: Step) -> None:
        if "open" in step:
            await self._conversations.open(step)
        elif "c" in step:
            await self._conversations.converse(step)
        elif "together" in step:
            await self._do_together([Step(step.number, one) for one in in_order_of_start(step["together"])])
        else:
            try:
                await self._happen(step)
            except UnknownHappening as unknown:
                self._differs("not known to this simulator", unknown, "skipped")
            await self._winding.settle()

    async def _do_together(self, steps: list[Step]) -> None:
        """Begin each step as soon as the one before it on its connection is over; hear at the end what took long."""
        unheard: dict[str, Step] = {}
        for step in steps:
            letter = step.get("c") or step.get("open")
            if letter in unheard:
                await self._conversations.hear(unheard.pop(letter))
            if "c" not in step:
                await self._do(step)
                continue
            await self._conversations.say(step)
            if self._conversations.is_answered(step):
                await self._conversations.hear(step)
            else:
                unheard[letter] = step
        for step in unheard.values():
            await self._conversations.hear(step)

    async def _happen(self, step: Step) -> None:
        plain: dict[str, Callable[[Any], None]] = {
            "elsewhere": self._happenings.elsewhere,
            "events": self._simulator.release_events,
            "mode": self._simulator.switch_mode,
            "api fails": self._happenings.api_fails,
            "sent": self._checks.sent,
        }
        if _MAKES_UIDVALIDITY_ANEW & step.content.keys():
            self._names.numbers_begin_anew()
        known = next((key for key in plain if key in step), None)
        if known is not None:
            plain[known](step[known])
            self._name_messages()
        elif "close" in step:
            await self._conversations.close(step["close"])
        elif "bridge" in step:
            await self._happenings.bridge(step["bridge"])
        elif "bridge restarts" in step:
            await self._simulator.restart()
        elif "wait" in step:
            await self._winding.for_seconds(float(step["wait"]))
        else:
            await self._compare(step)

    async def _compare(self, step: Step) -> None:
        if "account" in step:
            self._checks.account(step["account"], step["is"] or {})
        elif "stored" in step:
            self._checks.stored(str(step["stored"]), str(step["user"]), step["is"])
        elif "shows" in step:
            await self._conversations.shows(step.content)
        elif "imap port" in step:
            await self._compare_port(str(step["imap port"]))
        elif not any(key in step for key in _EVIDENCE):
            self._differs("a step of a kind that isn't known", sorted(step.content), "")

    async def _compare_port(self, expected: str) -> None:
        state = "open" if await connects(self._simulator) else "refuses connections"
        if state != expected:
            self._differs("the IMAP port", expected, state)


def _signed_in(user: GivenUser, logins: dict[int, str]) -> GivenUser:
    is_used = any(address in logins.values() for address in user.addresses)
    return dataclasses.replace(user, signed_in=user.signed_in or is_used)


def _event_period(recorded: Recording) -> float:
    stated = [float(recorded.environment.get(name, 0)) for name in ("LAB_PERIOD_MS", "LAB_JITTER_MS")]
    return sum(stated) / 1000 or _EVENT_PERIOD
