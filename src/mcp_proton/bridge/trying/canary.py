"""The canary: one message that we made, in a folder that we made, is changed in every way, and what happened is written down.

On a Bridge version of which nothing was recorded, and whenever the owner wishes (N-8). After each step Bridge is given the
time that its events take, and then only what every mailbox shows counts, never what an answer said. Nothing but what
bears the trial's token is touched; the token is written down before anything is made (`clearing` takes it away).
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import TYPE_CHECKING

from mcp_proton.bridge.trying.clearing import Clearing, Names, word_of
from mcp_proton.bridge.trying.evidence import UNKNOWN
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.findings import Finding, Trace
from mcp_proton.domain.mail import Flag, Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.findings import Findings
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.domain.ports import Clock

SETTLE = 45.0
"""seconds until Bridge's events have told of a change; what is not as it should be then gets as long again"""
READ = "as read"


class Stopped(Exception):
    """The trial cannot go on; what it found so far stands."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it: findings in the order made, why it stopped early, and what of it could not be taken away."""

    version: str
    findings: Sequence[Finding]
    stopped: str | None = None
    left: Sequence[str] = ()


@dataclass
class Canary:
    """`lease` is the right to write in the account, taken for each step alone; `say` tells the owner how far it is."""

    backend: BridgeBackend
    findings: Findings
    clock: Clock
    lease: Callable[[], AbstractAsyncContextManager[object]]
    pause: Callable[[float], Awaitable[None]]
    say: Callable[[str], None] = lambda _: None
    _found: list[Finding] = field(default_factory=list)

    @property
    def account(self) -> str:
        """Whose account it is."""
        return self.backend.name

    async def fly(self) -> Trial:
        """Try everything, and take away what was made. Raises where not even the account can be reached."""
        await self.clear()
        await self.backend.mailboxes(fresh=True)
        version = str(self.backend.version or UNKNOWN)
        token = base64.b32encode(secrets.token_bytes(10)).decode("ascii").lower()
        trace, stopped = Trace(token, version), None
        await self.findings.keep(self.account, trace)
        try:
            await self._try(trace)
        except Stopped as end:
            stopped = str(end)
        except MailError as error:
            stopped = error.message
        return Trial(version, list(self._found), stopped, await self.clear())

    async def clear(self) -> Sequence[str]:
        """Take away what a trial left; return what could not be."""
        clearing = Clearing(self.backend, self.findings, self.lease, lambda: self.pause(SETTLE))
        return await clearing.all()

    # --- the flight ------------------------------------------------------------------------------------------------

    async def _try(self, trace: Trace) -> None:
        names = Names(trace.token)
        await self._mailboxes_made(trace, names)
        identity = await self._hatched(trace, names)
        flight = _Flight(self, trace, names, identity)
        label, second, trash = await self._box(names.label), await self._box(names.second), await self._role(Role.TRASH)
        star = FlagChange(add=frozenset({Flag.FLAGGED}))
        unstar = FlagChange(remove=frozenset({Flag.FLAGGED}))
        do, first = self.backend, names.first
        await flight.step("set_flags", "starring", first, lambda one: do.set_flags([one], star), "first", "starred")
        await flight.step("set_flags", "unstarring", first, lambda one: do.set_flags([one], unstar), "first")
        await flight.step("label", "labelling", first, lambda one: do.label([one], label), "first", "label")
        await flight.step("move", "moving", first, lambda one: do.move([one], second), "second", "label")
        await flight.step("unlabel", "unlabelling", names.label, lambda one: do.unlabel([one]), "second")
        await flight.step("move", "moving to Trash", names.second, lambda one: do.move([one], trash), "trash")
        await flight.step("destroy", "destroying", trash.path, lambda one: do.destroy([one]))
        await self._mailboxes_removed(trace, names)

    async def _mailboxes_made(self, trace: Trace, names: Names) -> None:
        self.say("making two folders and a label")
        async with self.lease():
            for path, role in ((names.first, Role.FOLDER), (names.spelt, Role.FOLDER), (names.label, Role.LABEL)):
                await self.backend.create(path, role)
        made = {names.first, names.spelt, names.label}
        await self._listed(trace, "create", made, made)
        self.say("renaming one of them")
        async with self.lease():
            await self.backend.rename(await self._box(names.spelt), names.second)
        await self._listed(trace, "rename", {names.first, names.second, names.label}, {*made, names.second})

    async def _mailboxes_removed(self, trace: Trace, names: Names) -> None:
        self.say("removing the folders and the label")
        async with self.lease():
            for path in names.paths:
                for box in await self._ours({path}):
                    await self.backend.remove(box)
        await self._listed(trace, "remove", set(), set(names.paths))

    async def _listed(self, trace: Trace, verb: str, expected: set[str], among: set[str]) -> None:
        """Mailboxes that should be there are, and those that should not are not."""
        for _ in range(2):
            await self.pause(SETTLE)
            there = {box.path for box in await self._ours(among)}
            if there == expected:
                await self.note(trace, Finding(verb, True, self.clock.now()))
                return
        more, less = len(there - expected), len(expected - there)
        why = f"after `{verb}` {more} mailboxes are there that should not be, and {less} are missing"
        await self.note(trace, Finding(verb, False, self.clock.now(), why))
        raise Stopped(why)

    async def _hatched(self, trace: Trace, names: Names) -> str:
        """Put our message into our folder; return what it is found again by."""
        self.say("putting a message of our own into one of them")
        first = await self._box(names.first)
        async with self.lease():
            await self.backend.put(first, message(trace.token, format_datetime(self.clock.now())))
        for _ in range(2):
            await self.pause(SETTLE)
            identity = await Clearing.found_in(self.backend, first, names)
            if identity is not None:
                await self.findings.keep(self.account, Trace(trace.token, trace.version, identity))
                return identity
        raise Stopped("the message that was put into its own folder is not shown there")

    async def note(self, trace: Trace, finding: Finding) -> None:
        """Write down a finding. Of a version that is not known nothing can be proved for the next time."""
        self._found.append(finding)
        if not finding.proved or trace.version != UNKNOWN:
            await self.findings.record(self.account, trace.version, finding)

    async def _ours(self, paths: set[str]) -> list[Mailbox]:
        return [box for box in await self.backend.mailboxes(fresh=True) if box.path in paths]

    async def _box(self, path: str) -> Mailbox:
        for box in await self._ours({path}):
            return box
        raise Stopped("a mailbox that was made is not there any more")

    async def _role(self, role: Role) -> Mailbox:
        return next(box for box in await self.backend.mailboxes() if box.role is role)


@dataclass
class _Flight:
    """The message on its way. `_now` is what shows it."""

    canary: Canary
    trace: Trace
    names: Names
    identity: str
    _now: Mapping[str, Handle] = field(default_factory=dict)

    async def step(
        self, verb: str, doing: str, where: str, act: Callable[[Handle], Awaitable[Sequence[Fate]]], *expected: str
    ) -> None:
        """Do it to the message as `where` shows it; it must be shown by `expected` then, and by All Mail if by anything."""
        wanted = frozenset({*expected, "all"}) if expected else frozenset()
        canary = self.canary
        before = await self._look()
        canary.say(f"{doing} it")
        async with canary.lease():
            (fate,) = await act(self._now[where])
        after = before
        for _ in range(2):
            await canary.pause(SETTLE)
            after = await self._look()
            if after == wanted:
                break
        if after == wanted and fate.ending is Ending.DONE:
            await canary.note(self.trace, Finding(verb, True, canary.clock.now()))
            return
        if after == wanted or (after == before and fate.ending is not Ending.DONE):
            raise Stopped(f"{doing} did not succeed: {fate.why or fate.code}")
        why = f"after {doing} it is shown in {_told(after)}, and not in {_told(wanted)}"
        await canary.note(self.trace, Finding(verb, False, canary.clock.now(), why))
        raise Stopped(why)

    async def _look(self) -> frozenset[str]:
        """Where it is shown, in our own words; and whether as read, which nothing before Trash makes it."""
        self._now = await self.canary.backend.shown(self.identity)
        words = {word_of(path, self.names) for path in self._now}
        if "trash" not in words and words:
            rows = await self.canary.backend.envelopes([next(iter(self._now.values()))])
            words |= {READ for row in rows if Flag.SEEN in row.flags}
        return frozenset(words)


def _told(words: frozenset[str]) -> str:
    names = {"first": "its folder", "second": "the other folder", "label": "its label", "all": "All Mail"}
    return ", ".join(sorted(names.get(word, word.title() if word != READ else word) for word in words)) or "nothing"


def message(token: str, date: str) -> bytes:
    """The message of a trial: it says what it is, to whoever finds it."""
    lines = (
        "Received: by check.mcp-proton.invalid; " + date,
        "From: mcp-proton <check@mcp-proton.invalid>",
        "To: mcp-proton <check@mcp-proton.invalid>",
        f"Subject: mcp-proton check {token}",
        f"Message-ID: <{token}@check.mcp-proton.invalid>",
        "Date: " + date,
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "",
        "This message was made by `mcp-proton doctor --prove` to see what Bridge does to mail. It may be deleted.",
        "",
    )
    return "\r\n".join(lines).encode()
