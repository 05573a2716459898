"""One case of the effect table carried out on a simulator, and what came of it in the table's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_proton.simulator import GivenMessage
from tests.simulator.effect_table import SYSTEM_HOMES

if TYPE_CHECKING:
    from mcp_proton.simulator import Simulator
    from mcp_proton.simulator.proton.message import Message
    from tests.simulator.client import Client
    from tests.simulator.effect_table import Case

LABELS = ("Folders/From", "Folders/To", "Folders/Else", "Labels/From", "Labels/To", "Labels/Other")
FLAVOURS = {"both": ("received", "sent")}
# What the session sets first, so that there is something to take away.
SET_BEFORE = ("\\Answered", "\\Deleted", "$Forwarded", "Forwarded", "MyKeyword")
COUNTS_FLAGS = frozenset({"store", "append a new message"})
View = dict[str, list[tuple[int, str, frozenset[str]]]]


class World:
    """A simulator with empty mailboxes between cases."""

    def __init__(self, sim: Simulator, client: Client, other: Client) -> None:
        self.sim = sim
        self.client = client
        self.other = other
        self._count = 0

    async def outcome(self, case: Case) -> dict[str, Any]:
        """Carry a case out; what happened, under the names of the table's fields."""
        self._count += 1
        run = _Run(self, case, f"m{self._count}")
        found = await run.carry_out()
        account = self.sim.account()
        account.delete(list(account.messages))
        self.sim.release_events()
        view = self.sim.user().trees[""].view
        for mailbox in view.mailboxes.values():
            for message in list(mailbox.entries):
                view.take(mailbox, message)
        return found


class _Run:
    def __init__(self, world: World, case: Case, key: str) -> None:
        self.sim, self.client, self.other, self.case, self.key = world.sim, world.client, world.other, case, key
        self.source = _path(case.get("from", "All Mail"), "From")
        is_same = case.get("already in to", "") == "same mailbox"
        self.target = self.source if is_same else _path(case.get("to", "-"), "To")

    # -- what there is

    def given(self) -> GivenMessage:
        case = self.case
        places = [] if case["place before"] == "none" else [self.place()]
        for path in (self.source, self.target):
            already = path == self.source or case.get("already in to", "no") == "yes"
            if already and (path == "Starred" or path.startswith("Labels/")):
                places.append(path)
        if case.get("another label", case.get("label", case.get("label (not from)", "no"))) == "yes":
            places.append("Labels/Other")
        star = case.get("star", case.get("star (not from)", case.get("star before", "no")))
        if star == "yes":
            places.append("Starred")
        flavour = case["flavour"]
        unread = case.get("unread before", "yes") == "yes"
        flags = FLAVOURS.get(flavour, (flavour,))
        return GivenMessage(self.text(), tuple(dict.fromkeys(places)), flags, unread, key=self.key)

    def place(self) -> str:
        named = self.case["place before"]
        return {"(from)": self.source, "(to)": self.target}.get(named) or _path(named, "Else")

    def text(self) -> bytes:
        received = "Received: by x\n" if self.case.get("Received header", "no") == "yes" else ""
        sender = "x@example.com" if self.case.get("From is own", "yes") == "no" else "alice@proton.local"
        return (
            f"{received}From: {sender}\nTo: y@example.com\nSubject: {self.key}\n"
            f"Date: Mon, 02 Jan 2023 10:00:00 +0000\nMessage-ID: <{self.key}@x>\n\n{self.key}\n"
        ).encode()

    # -- what is done

    async def carry_out(self) -> dict[str, Any]:
        message = None
        if self.case.section not in {"append a new message", "from Recovered Messages"}:
            message = self.sim.account().add(self.given())
        self.sim.release_events()
        command = await self.prepare()
        before, was, calls = self.view(), _state(message), len(self.sim.api.calls)
        known = set(self.sim.account().messages)
        *untagged, reply = await self.client(command) if isinstance(command, str) else await self.append(*command)
        made = [one for one in self.sim.account().messages.values() if one.id not in known]
        at_once = self.changes(before, self.view())
        self.sim.release_events()
        return {
            "reply": _reply(reply),
            "untagged": [_untagged(line) for line in untagged if not line.endswith(" RECENT")],
            "api": [_call(call) for call in self.sim.api.calls[calls:] if not call.startswith("GET ")],
            **({} if message is None else self.message_after(message, was)),
            "new message": [self.describe(one) for one in made],
            "imap at once": at_once,
            "imap after events": self.changes(before, self.view()),
        }

    async def prepare(self) -> str | tuple[str, bytes]:
        """Bring the session so far that one command is left."""
        match self.case.section:
            case "copy" | "move":
                await self.select()
                return f'UID {self.case.section.upper()} 1:* "{self.target}"'
            case "expunge":
                return await self.prepare_expunge()
            case "store":
                await self.select()
                how, _, flags = self.case["flags"].partition(" ")
                if how == "-FLAGS" and flags.strip("()") in SET_BEFORE:
                    await self.client(f"UID STORE 1:* +FLAGS {flags}")
                return f"UID STORE 1:* {how} {flags}"
            case "append a fetched message":
                return f'APPEND "{self.target}"', self.fetched()
            case "append a new message":
                await self.client("UNSELECT")
                flags = "" if self.case["flags"] == "none" else self.case["flags"]
                return f'APPEND "{self.target}" ({flags})', self.text().replace(b"\n", b"\r\n")
            case _:
                return await self.prepare_recovered()

    async def prepare_expunge(self) -> str:
        by = self.case["marked Deleted by"]
        await self.select()
        if by != "nobody":
            marker = self.client if by == "this session" else self.other
            await marker(f'SELECT "{self.source}"')
            await marker("UID STORE 1:* +FLAGS.SILENT (\\Deleted)")
            await marker("NOOP")
        await self.client("NOOP")
        verb = self.case["verb"]
        return f"{verb} 1:*" if verb == "UID EXPUNGE" else verb

    async def prepare_recovered(self) -> str:
        await self.append('APPEND "All Mail"', self.text().replace(b"\n", b"\r\n"))
        self.source = "Recovered Messages"
        await self.select()
        verb = self.case["verb"]
        if verb == "UID EXPUNGE":
            await self.client("UID STORE 1:* +FLAGS.SILENT (\\Deleted)")
            return "UID EXPUNGE 1:*"
        return f'{verb} 1:* "{self.target}"'

    def fetched(self) -> bytes:
        view = self.sim.user().trees[""].view
        literal = next(iter(view.messages.values())).literal
        if self.case["X-Pm headers"] == "kept":
            return literal
        return re.sub(rb"(?m)^X-Pm-[^\r]*\r\n", b"", literal)

    async def select(self) -> None:
        await self.client("UNSELECT")
        await self.client(f'SELECT "{self.source}"')

    async def append(self, command: str, literal: bytes) -> list[str]:
        self.client.send(f"x {command} {{{len(literal)}}}\r\n".encode())
        lines = [await self.client.line()]
        if lines[0].startswith("+"):
            self.client.send(literal + b"\r\n")
            lines = [await self.client.line()]
        while not lines[-1].startswith("x "):
            lines.append(await self.client.line())
        return [*lines[:-1], lines[-1].removeprefix("x ")]

    # -- what came of it

    def message_after(self, message: Message, was: dict[str, Any]) -> dict[str, Any]:
        now = _state(message) if message.id in self.sim.account().messages else None
        if now is None:
            return {"place": "deleted for good"}
        names = self.sim.account().label_path
        labels = {one.id: names(one) for one in self.sim.account().labels.values()}
        gone = sorted(labels[one] for one in was["labels"] - now["labels"])
        new = sorted(labels[one] for one in now["labels"] - was["labels"])
        star = {(False, True): "set", (True, False): "lost"}.get((was["star"], now["star"]), "same")
        return {
            "place": "unchanged" if now["place"] == was["place"] else self.mailbox(now["place"]),
            "labels": [*(f"+{one}" for one in new), *(f"-{one}" for one in gone)],
            "star": star,
            "unread": now["unread"],
        }

    def describe(self, message: Message) -> dict[str, Any]:
        shown = {self.mailbox(one) for one in message.label_ids} - {"All Mail", "AllSent", "AllDrafts"}
        return {"in": sorted(shown), "unread": message.unread, "flags": sorted(message.flags - {"draft"})}

    def mailbox(self, label_id: str | None) -> str:
        if label_id is None:
            return "none"
        found = self.sim.user().trees[""].view.mailboxes.get(label_id)
        return found.path if found is not None else {"1": "AllDrafts", "2": "AllSent"}[label_id]

    def view(self) -> View:
        view = self.sim.user().trees[""].view
        return {
            mailbox.path: [
                (entry.uid, message.remote_id, message.flags | ({"\\Deleted"} if entry.deleted else frozenset()))
                for message, entry in mailbox.entries.items()
            ]
            for mailbox in view.mailboxes.values()
        }

    def changes(self, before: View, after: View) -> dict[str, str]:
        told = {path: _change(before.get(path, []), after.get(path, [])) for path in before.keys() | after.keys()}
        return {path: counted for path, change in told.items() if (counted := self.counted(change))}

    def counted(self, change: str) -> str:
        """A change as far as the table tells of it: flags only where they are what is measured."""
        if self.case.section in COUNTS_FLAGS or change in {"+", "-", "~"}:
            return change
        if change.startswith("2 copies"):
            return "2 copies"
        return "+" if change.startswith("+ ") else ""

    def absolute(self, expected: dict[str, Any]) -> dict[str, Any]:
        """What the table expects, with the mailboxes of this case put in."""
        told = dict(expected)
        if told.get("imap after events") == "same":
            told["imap after events"] = told["imap at once"]
        for when in ("imap at once", "imap after events"):
            told[when] = {
                self.named(name): self.counted(change) for name, change in told[when].items() if self.counted(change)
            }
        if "place" in told and told["place"] not in {"unchanged", "none", "deleted for good"}:
            told["place"] = self.named(told["place"])
        if "labels" in told:
            told["labels"] = sorted(one[0] + self.named(one[1:]) for one in told["labels"])
        told["reply"] = told["reply"].replace("{its name}", self.target).replace("offset=n", "offset=")
        told["api"] = [_expected_call(one) for one in told.get("api", ()) if not one.startswith("GET ")]
        told["new message"] = [
            {**one, "in": sorted(self.named(name) for name in one["in"])} for one in told.get("new message", ())
        ]
        return {name: value for name, value in told.items() if name in expected or name == "new message"}

    def named(self, name: str) -> str:
        flavour = self.case.get("flavour", "received" if self.case.get("Received header", "no") == "yes" else "sent")
        return {"from": self.source, "to": self.target, "home": SYSTEM_HOMES[flavour]}.get(name) or (
            self.place() if name == "its place" else name
        )


def differences(world: World, case: Case, found: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Where what was found is not what the table says: field, expected, found."""
    expected = _Run(world, case, "").absolute(case.expected)
    if case.section == "from Recovered Messages":
        run = _Run(world, case, "")
        run.source = "Recovered Messages"
        expected = run.absolute(case.expected)
    return {name: (wanted, found.get(name)) for name, wanted in expected.items() if found.get(name) != wanted}


def _path(name: str, end: str) -> str:
    special = {"folder": f"Folders/{end}", "label": f"Labels/{end}", "missing": "Folders/Missing"}
    return special.get(name) or {"Folders or Labels itself": "Folders"}.get(name, name)


def _state(message: Message | None) -> dict[str, Any]:
    if message is None:
        return {}
    return {"place": message.location, "labels": message.labels, "star": message.starred, "unread": message.unread}


def _change(before: list[tuple[int, str, frozenset[str]]], after: list[tuple[int, str, frozenset[str]]]) -> str:
    if len(after) > 1:
        return "2 copies"
    if not before and not after:
        return ""
    if not after:
        return "-"
    flags = after[0][2]
    if not before:
        return " ".join(["+", *sorted(flags)])
    if before[0][0] != after[0][0]:
        return "~"
    new, gone = sorted(flags - before[0][2]), sorted(before[0][2] - flags)
    return " ".join([*(f"+{one}" for one in new), *(f"-{one}" for one in gone)])


def _reply(line: str) -> str:
    line = re.sub(r" command completed in \d+ microsec\.$", "", line)
    line = re.sub(r"\[(COPYUID|APPENDUID)[^\]]*\]", r"[\1]", line)
    return re.sub(r"offset=\d+", "offset=", line)


def _untagged(line: str) -> str:
    line = re.sub(r"\[COPYUID[^\]]*\]", "[COPYUID]", line.removeprefix("* "))
    line = re.sub(r"^\d+ FETCH \(FLAGS \([^)]*\) UID \d+\)$", "FETCH (FLAGS (as they are now) UID n)", line)
    return re.sub(r"^\d+ ", "", line)


def _call(call: str) -> str:
    method, _, path = call.partition(" ")
    word = path.rpartition("/")[2]
    return word if method == "PUT" or word == "import" else "message call"


def _expected_call(name: str) -> str:
    bare = name.partition("(")[0].partition(" ->")[0]
    return "message call" if bare in {"metadata", "create draft"} else bare
