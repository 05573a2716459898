"""The matrix's world on a scripted JMAP server, and what each operation comes to there.

A message is in as many mailboxes as it likes, its flags are its own, and nothing is taken off it in Trash.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mcp_proton.simulator import GivenMessage
from tests.matrix.acts import ACTS, Act, BoxAct, Goal
from tests.matrix.world import MAILBOXES, Kind, Truth, World
from tests.servers.jmap import JmapServer
from tests.servers.jmap.methods import Refusal
from tests.servers.jmap.relay import HttpRelay
from tests.servers.jmap.server import PASSWORD, USER
from tests.servers.jmap.store import Stored

_ROLES = {"Spam": "junk"}
_NAMES = {"inbox": "INBOX", "junk": "Spam"}
_SYSTEM = ("INBOX", "Sent", "Drafts", "Trash", "Spam", "Archive", "Folders", "Labels")


class OnJmap:
    """A scripted server whose mailboxes are called as on a Bridge."""

    kind: Kind = "jmap"
    host = "127.0.0.1"
    username, password = USER, PASSWORD

    def __init__(self, server: JmapServer, messages: Sequence[GivenMessage]) -> None:
        self._server, self._store = server, server.store
        self.port = int(server.url.rpartition(":")[2])
        for folder in self._store.folders.values():
            folder.name = _NAMES.get(folder.role or "", folder.name)
        parents = {name: self._store.folder(name).id for name in ("Folders", "Labels")}
        for path in MAILBOXES:
            parent, _, name = path.partition("/")
            self._store.folder(name, parents[parent])
        for one in messages:
            self._given(one)

    def _given(self, one: GivenMessage) -> None:
        words = ("$flagged",) if "starred" in one.places else ()
        read = () if one.unread else ("$seen",)
        places = [self._id(place.title() if "/" not in place else place) for place in one.places if place != "starred"]
        assert isinstance(one.raw, bytes)
        self._store.add(one.raw, *places, keywords=frozenset((*words, *read)))

    def relay(self) -> HttpRelay:
        return HttpRelay(self.host, self.port)

    def truth(self) -> Mapping[str, Truth]:
        return {one.parsed["subject"]: self._truth(one) for one in self._store.emails.values()}

    def _truth(self, one: Stored) -> Truth:
        paths = frozenset(self._paths()[box] for box in one.mailboxes)
        labels = frozenset(path for path in paths if path.startswith("Labels/"))
        return Truth(paths - labels, labels, "$flagged" in one.keywords, "$seen" not in one.keywords)

    def mailboxes(self) -> frozenset[str]:
        return frozenset(self._paths().values()) - frozenset(_SYSTEM)

    def phone(self, key: str, label: str) -> None:
        """It takes the message out of every place, not out of its labels. Without such a mailbox it drops one."""
        found = next((one for one in self._store.emails.values() if one.parsed["subject"] == key), None)
        if found is not None and label in self._paths().values():
            paths = self._paths()
            found.mailboxes = {box for box in found.mailboxes if paths[box].startswith("Labels/")} | {self._id(label)}
        self._store.touched()

    def events(self) -> None:
        """All is known at once."""

    def rebuild(self) -> None:
        """Ids last for ever on JMAP; what can be void is the state that a change was bound to."""
        self._store.touched()

    def refuse(self, *, done: bool) -> None:
        """The next change ends with an error: of nothing done, or of something done (RFC 8620 §3.6.2)."""

        def deny(name: str) -> None:
            if name.endswith("/set"):
                self.mend()
                raise Refusal("serverFail")

        def lie(name: str, answer: dict[str, Any]) -> dict[str, Any]:
            if not name.endswith("/set"):
                return answer
            self.mend()
            raise Refusal("serverPartialFail")

        if done:
            self._server.lie = lie
        else:
            self._server.meanwhile = deny

    def mend(self) -> None:
        self._server.lie = lambda _, answer: answer
        self._server.meanwhile = lambda _: None

    def _paths(self) -> dict[str, str]:
        folders = self._store.folders
        return {
            one.id: one.name if one.parent is None else f"{self._path(one.parent)}/{one.name}"
            for one in folders.values()
        }

    def _path(self, box_id: str) -> str:
        one = self._store.folders[box_id]
        return one.name if one.parent is None else f"{self._path(one.parent)}/{one.name}"

    def _id(self, path: str) -> str:
        path = "INBOX" if path == "Inbox" else path
        return next(box for box, found in self._paths().items() if found == path)


@asynccontextmanager
async def on_jmap(messages: Sequence[GivenMessage]) -> AsyncIterator[World]:
    """A server that holds these."""
    async with JmapServer() as server:
        yield OnJmap(server, messages)


class JmapAct(Act):
    """An operation on messages: one look, one guarded change."""

    @property
    def writes(self) -> tuple[str, ...]:
        return ("Email/set",)


class JmapBoxAct(BoxAct):
    """An operation on a folder or a label."""

    @property
    def writes(self) -> tuple[str, ...]:
        return ("Email/set", "Mailbox/set") if self.operation == "labels_delete" else ("Mailbox/set",)


def _into(place: str, source: str) -> Goal:
    """Out of one place, into another; what else it is in and has stays (J-22)."""
    return lambda was: replace(was, places=(was.places - {source}) | {place})


_MOVES = {
    "messages_move": "Folders/Work",
    "messages_move_matching": "Folders/Work",
    "messages_archive": "Archive",
    "messages_trash": "Trash",
    "messages_spam": "Spam",
    "messages_restore": "INBOX",
    "messages_not_spam": "INBOX",
}
_NOT_HERE = {"messages_move from a label", "messages_trash guarded", "messages_restore an orphan"}
"""What only a Bridge has: a label's message is moved where it is, there is no guard, and nothing is in no mailbox."""
_PATHS = {
    "folders_create": ({"folder": "New"}, {"New"}),
    "folders_rename": ({"folder": "Folders/Other", "to": "Renamed"}, {"Folders/Renamed"}),
    "labels_create": ({"label": "Labels/New"}, {"Labels/New"}),
    "labels_rename": ({"label": "Labels/Red", "to": "Labels/Renamed"}, {"Labels/Renamed"}),
}
_READS = ("session", "Mailbox/get")


def _here(name: str, act: Act | BoxAct) -> Act | BoxAct:
    values = {field: getattr(act, field) for field in act.__dataclass_fields__} | {"reads": _READS}
    if isinstance(act, BoxAct):
        if name in _PATHS:
            arguments, gives = _PATHS[name]
            values |= {"arguments": arguments, "gives": frozenset(gives)}
        return JmapBoxAct(**values)
    if name in _MOVES:
        values["goal"] = _into(_MOVES[name], act.mailbox)
    return JmapAct(**values)


JMAP_ACTS: dict[str, Act | BoxAct] = {name: _here(name, act) for name, act in ACTS.items() if name not in _NOT_HERE}
JMAP_ACTS["messages_copy"] = JmapAct(
    "messages_copy", "INBOX", lambda was: replace(was, places=was.places | {"Archive"}), {"to": "Archive"}, reads=_READS
)
JMAP_UNSUPPORTED = {"messages_mark_deleted"}
