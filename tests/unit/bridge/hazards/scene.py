"""A Bridge with mail in it, our backend, a phone, and any number of naive mail programs beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All
from mcp_proton.imap.protocol.connection import Connection
from tests.contract.letters import letter
from tests.simulator.client import Client

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Mailbox
    from tests.servers.bridges import AnyBridge, ElsewhereVerb

LATER = 120.0
"""seconds after which every event has come"""
NAMES = {"inbox": "INBOX", "allmail": "All Mail"}
_WRITE = re.compile(rb"UID (COPY|MOVE) ")


@dataclass
class Scene:
    """`said` is every command our backend sends, with the connection it went over."""

    bridge: AnyBridge
    backend: BridgeBackend
    said: list[tuple[int, bytes]] = field(default_factory=list)
    planned_anew: int = 0
    """writes a test asked for once more after it was proved that nothing had been done"""

    def put(self, key: str, *places: str, kind: str = "received", unread: bool = True) -> None:
        """Mail arrives; Bridge hears of it at once. `Anna` writes what was received, the owner what was sent."""
        sender = "Anna <anna@example.org>" if kind == "received" else "Me <alice@proton.local>"
        self.bridge.deliver(
            letter(key, number=len(self.bridge.state()), sender=sender, body=f"{key} " * (1 + len(key))),
            key=key,
            places=places or ("inbox",),
            flags=() if kind == "draft" else (kind,),
            unread=unread,
        )
        self.events()

    def events(self) -> None:
        """Bridge hears of everything."""
        self.bridge.events()

    def phone(self, what: ElsewhereVerb, name: str, to: str = "") -> None:
        """Another device labels (moves) or unlabels a message, or deletes it or a label. Bridge isn't told yet."""
        self.bridge.elsewhere(what, name, to)

    def truth(self, key: str) -> set[str] | None:
        """Where the account has a message, All Mail and its kin left out; None when it was deleted for good."""
        state = self.bridge.state().get(key)
        return None if state is None else set(state["in"]) - {"All Mail", "AllSent", "AllDrafts"}

    async def box(self, path: str) -> Mailbox:
        """A mailbox by path."""
        return next(one for one in await self.backend.mailboxes() if one.path == path)

    async def role(self, role: Role) -> Mailbox:
        """A mailbox by role."""
        return next(one for one in await self.backend.mailboxes() if one.role is role)

    async def rows(self, path: str) -> Sequence[Envelope]:
        """What our backend lists in a mailbox."""
        return (await self.backend.search([await self.box(path)], All(), Page(1_000))).rows

    async def handle(self, key: str, path: str = "INBOX") -> Handle:
        """The handle of a message in a mailbox."""
        return next(row.handle for row in await self.rows(path) if row.subject == key)

    async def keep_open(self, path: str = "INBOX") -> None:
        """A session of ours has this mailbox selected from now on, with the list as it is."""
        some = [row.handle for row in await self.rows(path)][:1]
        await self.backend.set_flags(some, FlagChange(remove=frozenset({"forwarded"})))

    def client(self) -> Client:
        """A naive mail program."""
        return Client(self.bridge.naive_door)

    def writes(self) -> list[bytes]:
        """Every COPY and MOVE our backend sent."""
        return [line for _, line in self.said if _WRITE.match(line)]

    def spy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Record what is said from now on."""
        original = Connection._enter
        said = self.said

        def enter(self: Connection, ask: object, silence: float | None) -> object:
            said.append((id(self), b"".join(piece for piece in ask.line if isinstance(piece, bytes))))  # type: ignore[attr-defined]
            return original(self, ask, silence)  # type: ignore[arg-type]

        monkeypatch.setattr(Connection, "_enter", enter)

    def check_manners(self) -> None:
        """What must never be sent, whatever happened."""
        lines = [line for _, line in self.said]
        forbidden = re.compile(
            rb"EXPUNGE|CLOSE|UID STORE \S+ FLAGS|UID SEARCH .*(HEADER|TEXT|SUBJECT|FROM)|RENAME \"?INBOX"
        )
        assert not [line for line in lines if forbidden.match(line)]
        assert not [
            line for line in self.writes() if line.endswith((b'"Folders"', b'"Labels"', b'"Starred"', b'"All Mail"'))
        ]
        assert len(set(self._told_apart())) == len(self.writes()) - self.planned_anew
        for connection, line in self.said:
            if line.startswith((b"UID COPY", b"UID MOVE", b"UID EXPUNGE", b"UID STORE")):
                assert _named(line) <= 150, line
            assert connection
        self._check_freshness()

    def _told_apart(self) -> list[tuple[bytes, bytes]]:
        """COPY and MOVE with the mailbox they were sent in: none of them twice."""
        selected: dict[int, bytes] = {}
        found = []
        for connection, line in self.said:
            if line.startswith((b"SELECT", b"EXAMINE")):
                selected[connection] = line.partition(b" ")[2]
            elif _WRITE.match(line):
                found.append((selected[connection], line))
                assert not (line.startswith(b"UID MOVE") and selected[connection] == b'"All Mail"')
        return found

    def _check_freshness(self) -> None:
        """Just before a COPY or MOVE, its connection said NOOP or SELECT."""
        last: dict[int, bytes] = {}
        for connection, line in self.said:
            if _WRITE.match(line):
                assert last[connection].startswith((b"NOOP", b"SELECT")), (last[connection], line)
            last[connection] = line


def _named(line: bytes) -> int:
    count = 0
    for piece in line.split(b" ")[2].split(b","):
        low, _, high = piece.partition(b":")
        count += int(high or low) - int(low) + 1
    return count
