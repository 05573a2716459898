"""Recordings of a real Bridge played against Proton's engine, step by step, by the rules the simulator is held to.

Time is real here: a step is over when the answer is there, waits are cut short, and events are told to come.
"""

from __future__ import annotations

import base64
import dataclasses
import re
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.given import GivenLabel
from mcp_proton.simulator.replaying import recording as recordings
from mcp_proton.simulator.replaying.matching import CLOSED, Names, in_order, responses
from tests.servers.gluon_line import PATIENCE, Line
from tests.servers.gluon_session import login

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp_proton.simulator.given import GivenUser
    from mcp_proton.simulator.replaying.recording import Recording, Step
    from tests.servers.gluon_server import GluonServer

_EVENT_PERIOD = 2.0
_LONGEST_WAIT = 1.2
_LONGEST_LISTENING = 2.5
# What comes unasked comes in batches of half a second.
_BATCH = 0.6
_SILENCE = 0.4
# How long a session takes, at most, to be told of what the engine has just learned.
_TELLING = 0.04
_GLUON_ID = re.compile(r"\{the gluon id of ([^}]+)\}")
_EVIDENCE = frozenset({"note", "api calls", "sent", "stored", "shows"})


@dataclass(frozen=True)
class Difference:
    """One point where the engine and a recording part."""

    step: int
    what: str
    recorded: str
    played: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}\n    recorded: {self.recorded}\n    engine:   {self.played}"


def play(
    path: Path, server: GluonServer, *, logins: Mapping[int, str] | None = None, pace: float = 0.01
) -> list[Difference]:
    """Play one recording; an empty list means no difference.

    `logins` says which address the nth opened connection uses where that isn't the first one; recordings don't. `pace`
    is how long Bridge's waits for the API last, as a share of the real ones.
    """
    return _Play(recordings.load(path), server, logins or {}, pace).run()


class _Play:
    def __init__(self, recorded: Recording, server: GluonServer, logins: Mapping[int, str], pace: float) -> None:
        self._recorded = recorded
        self._logins = logins
        self._names = Names()
        self._lines: dict[str, Line] = {}
        self._opened = 0
        self._found: list[Difference] = []
        self._step = 0
        self._gluon = server.bridge(
            [self._user(user) for user in recorded.users],
            mode="split" if recorded.mode == "split" else "combined",
            model="fake",
            pace=pace,
        )
        self._has_idle = True
        if recorded.environment.get("LAB_SHOW_ALL_MAIL") == "0":
            self._gluon.show_all_mail(on=False)

    def _user(self, user: GivenUser) -> GivenUser:
        is_used = any(address in self._logins.values() for address in user.addresses)
        return dataclasses.replace(user, signed_in=user.signed_in or is_used)

    def run(self) -> list[Difference]:
        with self._gluon:
            self._name_messages()
            try:
                for step in self._recorded.steps:
                    self._step = step.number
                    self._do(step)
            finally:
                for line in self._lines.values():
                    line.close()
        return self._found

    def _differs(self, what: str, recorded: object, played: object) -> None:
        self._found.append(Difference(self._step, what, str(recorded), str(played)))

    def _name_messages(self) -> None:
        for user in self._recorded.users:
            for key, found in self._gluon.state(user.name).items():
                if key != found["id"]:
                    self._names.values[f"id:{key}"] = found["id"]

    # -- steps

    def _do(self, step: Step) -> None:
        if "open" in step:
            line = self._connect(step["open"], tls=bool(step.get("tls", True)))
            self._compare(step["got"], responses(bytes(line.heard)))
            line.heard.clear()
        elif "c" in step:
            self._converse(step)
        elif "together" in step:
            for content in step["together"]:
                self._do(recordings.Step(step.number, content))
        else:
            self._happen(step)
            time.sleep(_TELLING)

    def _connect(self, letter: str, *, tls: bool) -> Line:
        if (before := self._lines.pop(letter, None)) is not None:
            before.close()
        line = Line(letter, self._logins.get(self._opened) or self._recorded.users[0].addresses[0])
        self._opened += 1
        line.heard += line.open(self._gluon, tls=tls)
        self._lines[letter] = line
        return line

    def _converse(self, step: Step) -> None:
        expected = [str(one) for one in step["got"] or []]
        for key in _GLUON_ID.findall(str(step.get("literal", ""))):
            self._names.values[f"the gluon id of {key}"] = self._gluon_id(key)
        if step["c"] not in self._lines:
            self._connect(step["c"], tls=True).heard.clear()
        line = self._lines[step["c"]]
        self._name_login(line)
        if "raw" in step:
            line.send(self._names.fill(recordings.expand_runs(str(step["raw"]))).encode("latin-1"))
        elif "literal" in step:
            self._send_literal(line, step, expected)
        elif step.get("send"):
            line.send(line.number(expected, self._names.fill(str(step["send"]))))
        self._compare(expected, self._answer(line, step, expected))

    def _gluon_id(self, key: str) -> str:
        """The engine's id of a message, found as a client would."""
        with login(self._gluon) as session:
            session.command(b'EXAMINE "All Mail"')
            number = self._names.values[f"id:{key}"].encode()
            found = session.command(b"SEARCH HEADER X-Pm-Internal-Id ", number)[0].split()[-1]
            shown = session.command(b"FETCH ", found, b" (BODY.PEEK[HEADER.FIELDS (X-Pm-Gluon-Id)])")
        return b"".join(shown).partition(b"X-Pm-Gluon-Id: ")[2].split()[0].decode()

    def _send_literal(self, line: Line, step: Step, expected: list[str]) -> None:
        text = self._names.fill(str(step["literal"]))
        try:
            content = text.encode("latin-1")
        except UnicodeEncodeError:
            content = text.encode()
        if "padded" in step:
            content = _padded(content, int(step["padded"]))
        line.send(line.number(expected, f"{self._names.fill(str(step['send']))} {{{len(content)}}}"))
        line.hear(lambda: line.heard.endswith(b"\n"), PATIENCE)
        if line.heard.startswith(b"+") or b"\r\n+" in line.heard:
            line.send(content + b"\r\n")
            if not any(one.startswith("+") for one in expected):
                # Some recordings leave the go-ahead out.
                del line.heard[line.heard.index(b"+") :]

    def _answer(self, line: Line, step: Step, expected: list[str]) -> list[str]:
        if "listen" in step:
            line.hear(lambda: self._is_whole(line, step, expected), min(float(step["listen"]), _LONGEST_LISTENING))
            line.hear(lambda: False, _BATCH)
        else:
            line.hear(lambda: self._is_whole(line, step, expected), PATIENCE if expected else _SILENCE)
        got = responses(bytes(line.heard))
        line.heard.clear()
        tagged = next((at for at, one in enumerate(got) if one.startswith(f"{line.tag} ")), None)
        if "listen" not in step and "raw" not in step and tagged is not None:
            # The recorder stopped at the tagged line; what came after it stands in a later step.
            line.heard += "".join(one + "\r\n" for one in got[tagged + 1 :]).encode("latin-1")
            del got[tagged + 1 :]
        if line.is_over and (CLOSED in expected or (expected and not got)):
            got.append(CLOSED)
        return got

    def _is_whole(self, line: Line, step: Step, expected: list[str]) -> bool:
        if CLOSED in expected or not line.heard.endswith(b"\n"):
            return False
        got = responses(bytes(line.heard))
        if "raw" not in step and any(one.startswith(f"{line.tag} ") for one in got):
            return True
        return len(got) >= len(expected)

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
        actual = self._gluon.state(name)
        made = {key: actual[key] for key in actual if key not in expected}
        for key, wanted in expected.items():
            found = actual.get(key) if not key.startswith("new") else _pop_equal(made, wanted)
            if found is None or {one: found[one] for one in wanted} != wanted:
                self._differs(f"the account's {key}", wanted, found)
        for key in made:
            self._differs("the account holds more", "(nothing)", f"{key}: {actual[key]}")

    # -- what happens

    def _happen(self, step: Step) -> None:
        gluon = self._gluon
        plain: dict[str, Callable[[Any], None]] = {
            "elsewhere": self._elsewhere,
            "events": gluon.events,
            "mode": gluon.switch_mode,
            "api fails": self._api_fails,
            "close": lambda letter: self._lines.pop(letter).close(),
            "bridge": self._bridge,
            "bridge restarts": self._restart,
            "account": lambda name: self._compare_account(name, step["is"] or {}),
            "wait": self._wait,
            "imap port": self._compare_port,
        }
        known = next((key for key in plain if key in step), None)
        if known is not None:
            plain[known](step[known])
            if known == "elsewhere":
                self._name_messages()
        elif not any(key in step for key in _EVIDENCE):
            self._differs("a step of a kind that isn't known", sorted(step.content), "")

    def _restart(self, _: str) -> None:
        self._gluon.offer_idle(on=self._has_idle)
        self._gluon.restart()

    def _wait(self, seconds: float) -> None:
        time.sleep(min(float(seconds), _LONGEST_WAIT))
        if float(seconds) >= _EVENT_PERIOD:
            self._gluon.events()

    def _compare_port(self, expected: str) -> None:
        # A program that is going down takes a moment for it.
        deadline = time.monotonic() + PATIENCE
        while (state := self._port()) != expected and time.monotonic() < deadline:
            time.sleep(_TELLING)
        if state != expected:
            self._differs("the IMAP port", expected, state)

    def _port(self) -> str:
        try:
            socket.create_connection((self._gluon.host, self._gluon.imap_port), timeout=1).close()
        except OSError:
            return "refuses connections"
        return "open"

    def _name_login(self, line: Line) -> None:
        users = self._gluon.users
        password = next((one["password"] for one in users if line.address in one["addresses"]), users[0]["password"])
        self._names.values |= {
            "user": line.address, "password": password,
            "plain": base64.b64encode(f"\0{line.address}\0{password}".encode()).decode(),
            "pass64": base64.b64encode(password.encode()).decode(),
        }  # fmt: skip

    def _api_fails(self, written: dict[str, Any] | None) -> None:
        self._gluon.mend()
        if written is not None:
            self._gluon.fail(
                str(written.get("Path", "")),
                method=str(written.get("Method", "")),
                count=int(written.get("Count", 1)),
                status=int(written.get("Status", 500)),
                code=int(written.get("Code", 0)) or 2001,
                message=str(written.get("Message", "lab failure")),
                mode=written.get("Mode", ""),
                delay=min(float(written.get("delay_ms", 0)) / 1000, _LONGEST_WAIT),
            )

    def _bridge(self, what: dict[str, Any]) -> None:
        gluon = self._gluon
        ((word, arguments),) = what.items()
        named = arguments if isinstance(arguments, dict) else {}
        user = str(named.get("user") or "")
        acts: dict[str, Callable[[], None]] = {
            "net": lambda: gluon.network(on=named["State"] == "on"),
            "settings": lambda: gluon.show_all_mail(on=bool(named.get("ShowAllMail", True))),
            "featureflag": lambda: self._switch_flag(str(named["Name"])),
            "logout": lambda: gluon.sign_out(user),
            "login": lambda: gluon.sign_in(user),
            "offline": lambda: gluon.take_api_down() if named.get("State") else gluon.mend(),
            "resync": lambda: gluon.repair(user),
            "repair": lambda: gluon.repair(user),
            "tick": lambda: gluon.events(user),
            "message cache": gluon.empty_cache,
        }
        if word in acts:
            acts[word]()
        else:
            self._differs("something that isn't known happens to Bridge", word, "")

    def _switch_flag(self, name: str) -> None:
        # Bridge reads its flags when it starts, and then every ten minutes.
        if name == "InboxBridgeImapIdleCapabilityDisabled":
            self._has_idle = False
        elif name == "InboxBridgeImapAuthenticateCommandDisabled":
            self._gluon.withdraw_authenticate()

    def _elsewhere(self, what: dict[str, Any]) -> None:
        for word, arguments in what.items():
            if word != "user":
                inner = arguments.get("user") if isinstance(arguments, dict) else None
                self._change(str(inner or what.get("user") or ""), word, arguments)

    def _change(self, user: str, word: str, how: Any) -> None:
        gluon = self._gluon
        keys = [str(key) for key in how.get("ids", ())] if isinstance(how, dict) else []
        match word:
            case "label":
                label = GivenLabel.from_path(str(how))
                gluon.elsewhere("make label", user=user, name=label.name, folder=label.folder, parent=label.parent)
            case "message":
                gluon.load([recordings.given_message(how)], user=user)
            case "revoke" | "refresh":
                gluon.elsewhere(word, user=user)
            case "label-delete":
                gluon.elsewhere("delete label", user=user, path=how["label"])
            case "address":
                gluon.elsewhere("address", user=user, address=how["address"], on=how["type"] != "disable")
            case "mark-read":
                gluon.elsewhere("mark read", *keys, user=user, on=bool(how["read"]))
            case "label-message":
                gluon.elsewhere("label", *keys, user=user, to=how["label"])
            case "unlabel-message":
                gluon.elsewhere("unlabel", *keys, user=user, to=how["label"])
            case "delete-message":
                gluon.elsewhere("delete", *keys, user=user)
            case "flags":
                for flag in how["flags"]:
                    gluon.elsewhere("set flag", *keys, user=user, flag=str(flag), on=True)
            case _ if word.startswith("label-"):
                new = {one: how[one] for one in ("name", "parent") if how.get(one)}
                gluon.elsewhere("change label", user=user, path=how["label"], **new)
            case _:
                self._differs("a change elsewhere that isn't known", word, "")


def _pop_equal(candidates: dict[str, dict[str, Any]], wanted: dict[str, Any]) -> dict[str, Any] | None:
    for key, found in candidates.items():
        if all(found.get(one) == value for one, value in wanted.items()):
            return candidates.pop(key)
    return None


def _padded(content: bytes, size: int) -> bytes:
    line = b"x" * 74 + b"\r\n"
    missing = size - len(content)
    return content + (line * (missing // len(line) + 1))[: max(0, missing)]
