"""One play of a recording: its steps in order, against a simulator made for it."""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator import recording as recordings
from mcp_proton.simulator.clock import WoundClock
from mcp_proton.simulator.happenings import Happenings, UnknownHappening
from mcp_proton.simulator.line import Line
from mcp_proton.simulator.matching import CLOSED, Names, in_order, responses
from mcp_proton.simulator.server import Simulator
from mcp_proton.simulator.settling import connects, settle
from mcp_proton.simulator.timing import FirstSync

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.certificate import Certificate
    from mcp_proton.simulator.given import GivenUser
    from mcp_proton.simulator.recording import Recording, Step

Found = tuple[int, str, str, str]
_EVENT_PERIOD = 3.0
_LONGEST_WAIT = 600.0
_EVIDENCE = frozenset({"note", "api calls", "sent", "stored", "shows"})


class Player:
    """Plays a recording once; `logins` says which address the nth opened connection uses for `{user}`."""

    def __init__(self, recorded: Recording, certificate: Certificate, logins: dict[int, str]) -> None:
        self._recorded = recorded
        self._clock = WoundClock()
        stated = [float(recorded.environment.get(name, 0)) for name in ("LAB_PERIOD_MS", "LAB_JITTER_MS")]
        self._event_period = sum(stated) / 1000 or _EVENT_PERIOD
        self._logins = logins
        self._names = Names()
        self._lines: dict[str, Line] = {}
        self._smtp: set[str] = set()
        self._opened = 0
        self._found: list[Found] = []
        self._step = 0
        is_early = self._begins_before_opening()
        self._simulator = Simulator(
            users=[self._user(user) for user in recorded.users],
            mode="split" if recorded.mode == "split" else "combined",
            model="fake",
            clock=self._clock,
            certificate=certificate,
            zone=recorded.environment.get("TZ", "UTC"),
            complete_first_sync=not is_early,
        )
        self._happenings = Happenings(self._simulator)
        self._first_sync = FirstSync(self._simulator) if is_early else None
        self._simulator.settings.show_all_mail = recorded.environment.get("LAB_SHOW_ALL_MAIL", "1") != "0"

    def _user(self, user: GivenUser) -> GivenUser:
        is_used = any(address in self._logins.values() for address in user.addresses)
        return dataclasses.replace(user, signed_in=user.signed_in or is_used)

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
            for line in self._lines.values():
                await line.close()
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
            await self._open(step)
        elif "c" in step:
            await self._converse(step)
        elif "together" in step:
            for number, content in enumerate(step["together"]):
                await self._do(recordings.Step(step.number, {**content, "part": number}))
        else:
            try:
                await self._happen(step)
            except UnknownHappening as unknown:
                self._differs("not known to this simulator", unknown, "skipped")
            await self._settle()

    async def _happen(self, step: Step) -> None:
        plain: dict[str, Callable[[Any], None]] = {
            "elsewhere": self._happenings.elsewhere,
            "events": self._simulator.release_events,
            "mode": self._simulator.switch_mode,
            "api fails": self._happenings.api_fails,
        }
        known = next((key for key in plain if key in step), None)
        if known is not None:
            plain[known](step[known])
            self._name_messages()
        elif "close" in step:
            if step["close"] in self._lines:
                await self._lines.pop(step["close"]).close()
        elif "bridge" in step:
            await self._happenings.bridge(step["bridge"])
        elif "bridge restarts" in step:
            await self._simulator.restart()
        elif "account" in step:
            self._compare_account(step["account"], step["is"] or {})
        elif "wait" in step:
            await self._pass(float(step["wait"]))
        elif "imap port" in step:
            await self._compare_port(str(step["imap port"]))
        elif not any(key in step for key in _EVIDENCE):
            self._differs("a step of a kind that isn't known", sorted(step.content), "")

    async def _open(self, step: Step) -> None:
        letter = step["open"]
        if step.get("proto", "imap") != "imap":
            self._smtp.add(letter)
            self._differs("SMTP is not simulated", f"open {letter}", "skipped")
            return
        got = await self._connect(letter, tls=bool(step.get("tls", True)))
        self._compare(step["got"], got)

    async def _connect(self, letter: str, *, tls: bool) -> list[str]:
        if letter in self._lines:
            await self._lines.pop(letter).close()
        line = Line(letter, self._logins.get(self._opened) or self._recorded.users[0].addresses[0])
        self._opened += 1
        got = await line.open(self._simulator, tls=tls)
        self._lines[letter] = line
        await self._settle()
        return responses(got + line.take())

    async def _converse(self, step: Step) -> None:
        letter = step["c"]
        if letter in self._smtp:
            return
        if letter not in self._lines:
            await self._connect(letter, tls=True)
        line = self._lines[letter]
        self._name_login(line)
        if self._first_sync is not None:
            self._first_sync.keep_up_with(line.session, step["got"] or [])
        if "literal" in step:
            await self._send_literal(line, step)
        elif "raw" in step:
            line.send(_encoded(self._names.fill(recordings.expand_runs(str(step["raw"])))))
        elif step.get("send"):
            line.send_command(self._names.fill(str(step["send"])).encode(), _tag_number(line.letter, step["got"] or []))
        await self._hear(line, step)

    async def _send_literal(self, line: Line, step: Step) -> None:
        text = self._names.fill(str(step["literal"]))
        content = _encoded(text)
        if "padded" in step:
            content = _padded(content, int(step["padded"]))
        command = f"{self._names.fill(str(step['send']))} {{{len(content)}}}"
        line.send_command(command.encode(), _tag_number(line.letter, step["got"] or []))
        await self._settle()
        if line.heard.startswith(b"+") or b"\r\n+" in line.heard:
            line.send(content + b"\r\n")

    async def _hear(self, line: Line, step: Step) -> None:
        await self._settle()
        expected = [str(one) for one in step["got"] or []]
        if "listen" in step:
            await self._pass(float(step["listen"]))
        else:
            await self._pass_until(lambda: line.is_over or (bool(line.heard) and line.session.is_at_rest))
        got = self._heard(line, step, expected)
        if (line.is_over and CLOSED in expected) or (line.is_over and not got and expected):
            got.append(CLOSED)
        self._compare(expected, got)

    def _heard(self, line: Line, step: Step, expected: list[str]) -> list[str]:
        got = responses(line.take())
        if "literal" in step and not any(one.startswith("+") for one in expected):
            # Some recordings leave the go-ahead out.
            got = [one for one in got if one != "+ Ready"]
        tagged = [at for at, one in enumerate(got) if one.startswith(f"{line.tag} ")]
        if "listen" not in step and "raw" not in step and tagged and tagged[0] + 1 < len(got):
            # The recorder stopped at the tagged line; what came after it stands in a later step.
            line.put_back("".join(one + "\r\n" for one in got[tagged[0] + 1 :]).encode("latin-1"))
            del got[tagged[0] + 1 :]
        return got

    # -- time

    async def _settle(self) -> None:
        await settle(self._simulator, list(self._lines.values()))

    async def _pass(self, seconds: float) -> None:
        """Let time go by; after each period Bridge asks for events, as the recorded one did by itself."""
        while seconds >= self._event_period:
            await self._wind(self._event_period)
            self._simulator.release_events()
            await self._settle()
            seconds -= self._event_period
        await self._wind(seconds)

    async def _wind(self, seconds: float) -> None:
        end = self._clock.now() + seconds
        while (wake := self._clock.next_wake) is not None and wake <= end:
            self._clock.advance_to(wake)
            await self._settle()
        self._clock.advance_to(end)
        await self._settle()

    async def _pass_until(self, is_enough: Callable[[], bool]) -> None:
        end = self._clock.now() + _LONGEST_WAIT
        while not is_enough() and (wake := self._clock.next_wake) is not None and wake <= end:
            self._clock.advance_to(wake)
            await self._settle()

    # -- comparing

    def _compare(self, expected: list[str], got: list[str]) -> None:
        wanted, came = in_order([str(one) for one in expected]), in_order(got)
        for index in range(max(len(wanted), len(came))):
            one = wanted[index] if index < len(wanted) else "(nothing)"
            other = came[index] if index < len(came) else "(nothing)"
            if not self._names.matches(one, other):
                self._differs("another answer", self._names.fill(one), other)
                return

    def _compare_account(self, name: str, expected: dict[str, Any]) -> None:
        actual = self._simulator.state(name)
        made = {key: actual[key] for key in actual if key not in expected}
        for key, wanted in expected.items():
            found = actual.get(key) if not key.startswith("new") else _pop_equal(made, wanted)
            if found is None or {one: found[one] for one in wanted} != wanted:
                self._differs(f"the account's {key}", wanted, found)
        for key in [key for key in made if key not in expected]:
            self._differs("the account holds more", "(nothing)", f"{key}: {actual[key]}")

    async def _compare_port(self, expected: str) -> None:
        state = "open" if await connects(self._simulator) else "refuses connections"
        if state != expected:
            self._differs("the IMAP port", expected, state)

    def _name_login(self, line: Line) -> None:
        user = self._simulator.user_of(line.address)
        password = user.password if user is not None else ""
        plain = base64.b64encode(f"\0{line.address}\0{password}".encode()).decode()
        self._names.values |= {
            "user": line.address, "password": password, "plain": plain,
            "pass64": base64.b64encode(password.encode()).decode(),
        }  # fmt: skip


def _pop_equal(candidates: dict[str, dict[str, object]], wanted: dict[str, object]) -> dict[str, object] | None:
    for key, found in candidates.items():
        if all(found.get(one) == value for one, value in wanted.items()):
            return candidates.pop(key)
    return None


def _tag_number(letter: str, replies: list[str]) -> int | None:
    """The number of the tag in a recorded reply; None if it shows none."""
    found = re.match(rf"{letter}(\d+) ", str(replies[-1])) if replies else None
    return int(found.group(1)) if found else None


def _encoded(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _padded(content: bytes, size: int) -> bytes:
    line = b"x" * 74 + b"\r\n"
    missing = size - len(content)
    return content + (line * (missing // len(line) + 1))[: max(0, missing)]
