"""The conversations of a recording: what clients say is said, and the answers are held against the recorded ones."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.imap.session import Session
from mcp_proton.simulator.replaying import recording as recordings
from mcp_proton.simulator.replaying.line import Line
from mcp_proton.simulator.replaying.matching import CLOSED, in_order, responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.replaying.line import Proto
    from mcp_proton.simulator.replaying.matching import Names
    from mcp_proton.simulator.replaying.recording import Recording, Step
    from mcp_proton.simulator.replaying.timing import FirstSync
    from mcp_proton.simulator.replaying.winding import Winding
    from mcp_proton.simulator.server import Simulator

_MAILBOX = re.compile(
    r'(?:SELECT|EXAMINE|STATUS|APPEND) ("[^"]*"|\S+)|(?:UID )?(?:COPY|MOVE) \S+ ("[^"]*"|\S+)', re.IGNORECASE
)
_SMTP_LINE = re.compile(rb"[^\n]*\n")
_GO_OVER_TO_TLS = "220 2.0.0 Ready to start TLS"


class Conversations:
    """Every connection of a replay; `logins` says which address the nth opened one uses for `{user}`."""

    def __init__(
        self,
        recorded: Recording,
        simulator: Simulator,
        names: Names,
        lines: dict[str, Line],
        winding: Winding,
        logins: dict[int, str],
        differs: Callable[[str, object, object], None],
    ) -> None:
        self._recorded = recorded
        self._simulator = simulator
        self._names = names
        self._lines = lines
        self._winding = winding
        self._logins = logins
        self._differs = differs
        self._opened = 0
        self._protos: dict[str, Proto] = {}
        self.first_sync: FirstSync | None = None

    async def open(self, step: Step) -> None:
        """A connection is opened."""
        self._protos[step["open"]] = "smtp" if step.get("proto") == "smtp" else "imap"
        got = await self._connect(step["open"], tls=bool(step.get("tls", True)))
        self._compare(step, got)

    async def _connect(self, letter: str, *, tls: bool) -> list[str]:
        await self.close(letter)
        address = self._logins.get(self._opened) or self._recorded.users[0].addresses[0]
        line = Line(letter, address, self._protos.get(letter, "imap"))
        self._opened += 1
        if not self._simulator.is_offline:
            # Servers that are down for a moment were up again when the recorded client came.
            await self._winding.until(lambda: self._simulator.is_listening)
        got = await line.open(self._simulator, tls=tls)
        self._lines[letter] = line
        await self._winding.settle()
        return responses(got + line.take())

    async def close(self, letter: str) -> None:
        """A client drops its line."""
        if letter in self._lines:
            await self._lines.pop(letter).close()

    async def converse(self, step: Step) -> None:
        """Something is said and answered."""
        await self.say(step)
        await self.hear(step)

    # -- saying

    async def say(self, step: Step) -> None:
        """Send what a step sends."""
        letter = step["c"]
        if letter not in self._lines:
            await self._connect(letter, tls=True)
        line = self._lines[letter]
        self._name_login(line)
        if self.first_sync is not None and isinstance(line.session, Session):
            self.first_sync.keep_up_with(line.session, step["got"] or [])
        if "raw" in step:
            line.send(_encoded(self._names.fill(recordings.expand_runs(str(step["raw"])))))
        elif "literal" in step:
            await self._send_literal(line, step)
        elif step.get("send") or (line.proto == "smtp" and "send" in step):
            text = self._names.fill(str(step["send"])).encode()
            line.send_command(text, _tag_number(line.letter, step["got"] or []))
        await self._winding.settle()

    async def _send_literal(self, line: Line, step: Step) -> None:
        content = _encoded(self._names.fill(str(step["literal"])))
        if "padded" in step:
            content = _padded(content, int(step["padded"]))
        command = self._names.fill(str(step["send"]))
        if line.proto == "smtp":
            line.send_command(command.encode())
            await self._winding.settle()
            if line.heard.startswith(b"354"):
                line.send(_dotted(content))
            return
        line.send_command(f"{command} {{{len(content)}}}".encode(), _tag_number(line.letter, step["got"] or []))
        await self._winding.settle()
        if line.heard.startswith(b"+") or b"\r\n+" in line.heard:
            line.send(content + b"\r\n")

    # -- hearing

    def is_answered(self, step: Step) -> bool:
        """Whether all of the answer has come, or none will."""
        line = self._lines[step["c"]]
        if line.is_over:
            return True
        if line.proto == "smtp":
            return line.heard.count(b"\n") >= len(step["got"] or [])
        return bool(line.heard) and line.session.is_at_rest

    async def hear(self, step: Step) -> None:
        """Wait for the answer and compare it."""
        line = self._lines[step["c"]]
        await self._winding.settle()
        expected = [str(one) for one in step["got"] or []]
        if "listen" in step:
            await self._winding.for_seconds(float(step["listen"]))
        else:
            await self._winding.until(lambda: self.is_answered(step))
        got = self._smtp_lines(line, len(expected)) if line.proto == "smtp" else self._imap_lines(line, step, expected)
        if (line.is_over and CLOSED in expected) or (line.is_over and not got and expected):
            got.append(CLOSED)
        self._compare(step, got)
        if _GO_OVER_TO_TLS in got and line.proto == "smtp":
            await line.start_tls()

    def _smtp_lines(self, line: Line, count: int) -> list[str]:
        """As many lines as the recorder read; what came after them stands in a later step, or nowhere."""
        heard = line.take()
        lines = _SMTP_LINE.findall(heard)
        line.put_back(b"".join(lines[count:]) + heard[sum(map(len, lines)) :])
        return [one.rstrip(b"\r\n").decode("latin-1") for one in lines[:count]]

    def _imap_lines(self, line: Line, step: Step, expected: list[str]) -> list[str]:
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

    def _compare(self, step: Step, got: list[str]) -> None:
        mailbox = _mailbox_of(str(step.get("send", "")))
        wanted, came = in_order([str(one) for one in step["got"] or []]), in_order(got)
        for index in range(max(len(wanted), len(came))):
            one = wanted[index] if index < len(wanted) else "(nothing)"
            other = came[index] if index < len(came) else "(nothing)"
            if not self._names.matches(one, other, mailbox):
                self._differs("another answer", self._names.fill(one), other)
                return

    # -- beside the recorded connections

    async def shows(self, what: dict[str, Any]) -> None:
        """Something shows over IMAP by itself, after the recorded time or one more period."""
        probe = Line("probe", self._recorded.users[0].addresses[0])
        self._name_login(probe)
        await probe.open(self._simulator, tls=True)
        self._lines["probe"] = probe
        await self._ask(probe, self._names.fill("LOGIN {user} {password}"))
        waited = 0.0
        while str(what["seen"]) not in (heard := await self._ask(probe, str(what["asked"]))):
            if waited > float(what["after"]):
                self._differs(f"{what['shows']} after {waited:.0f} s", what["seen"], heard)
                break
            await self._winding.for_seconds(self._winding.period)
            waited += self._winding.period
        await self.close("probe")

    async def _ask(self, probe: Line, command: str) -> str:
        probe.send_command(command.encode())
        await self._winding.settle()
        return probe.take().decode("latin-1")

    def _name_login(self, line: Line) -> None:
        user = self._simulator.user_of(line.address)
        password = user.password if user is not None else ""
        plain = base64.b64encode(f"\0{line.address}\0{password}".encode()).decode()
        self._names.values |= {
            "user": line.address, "password": password, "plain": plain,
            "pass64": base64.b64encode(password.encode()).decode(),
        }  # fmt: skip


def _mailbox_of(command: str) -> str:
    """The mailbox whose UIDVALIDITY the answer to a command can show."""
    found = _MAILBOX.match(command)
    return (found[1] or found[2]).strip('"') if found else ""


def _tag_number(letter: str, replies: list[str]) -> int | None:
    """The number of the tag in a recorded reply; None if it shows none."""
    found = re.match(rf"{letter}(\d+) ", str(replies[-1])) if replies else None
    return int(found.group(1)) if found else None


def _encoded(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _dotted(content: bytes) -> bytes:
    """A text as it goes out after DATA: dots at the beginning of lines doubled, and the end marked."""
    end = b"" if content.endswith(b"\r\n") else b"\r\n"
    return re.sub(rb"(?m)^\.", b"..", content) + end + b".\r\n"


def _padded(content: bytes, size: int) -> bytes:
    line = b"x" * 74 + b"\r\n"
    missing = size - len(content)
    return content + (line * (missing // len(line) + 1))[: max(0, missing)]
