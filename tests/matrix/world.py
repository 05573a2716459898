"""The seam of the fault matrix: an account behind a Bridge, as the matrix needs it.

To let the matrix run on another server, give it a class with the members of `World` and an `Opening`: where it
listens without TLS (or a forwarder before it that takes the TLS off), what another device does, what the account holds
in truth. Faults of the wire are the relay's and need nothing from a world.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from mcp_proton.simulator import GivenLabel, GivenMessage
from tests.contract.letters import letter
from tests.servers import bridges
from tests.servers.bridges import AnyBridge
from tests.servers.gluon_server import GluonServer
from tests.servers.relay import Relay

MAILBOXES = ("Folders/Work", "Folders/Empty", "Folders/Other", "Labels/Blue", "Labels/Red")
CHANGES = "/messages/|/labels"
"""the paths of the API's calls that change something"""
VIEWS = frozenset({"All Mail", "AllSent", "AllDrafts", "All Sent", "All Drafts", "Starred"})


Kind = Literal["bridge", "jmap"]


@dataclass(frozen=True)
class Truth:
    """A message as the account has it: its places (one, or it is an orphan), its labels, star, whether it is unread."""

    places: frozenset[str]
    labels: frozenset[str]
    starred: bool
    unread: bool


class World(Protocol):
    """An account with mail in it. Keys are the messages' subjects as well."""

    kind: Kind
    host: str
    port: int
    username: str
    password: str

    def relay(self) -> Relay:
        """What stands before it, and has a trap."""
        ...

    def truth(self) -> Mapping[str, Truth]:
        """Every message of the account, by key."""
        ...

    def mailboxes(self) -> frozenset[str]:
        """The paths of folders and labels the account has."""
        ...

    def phone(self, key: str, label: str) -> None:
        """Another device moves a message (or labels it). Bridge is not told."""
        ...

    def events(self) -> None:
        """Bridge hears of everything."""
        ...

    def rebuild(self) -> None:
        """Every mailbox gets a new UIDVALIDITY and new UIDs, under the sessions' feet."""
        ...

    def refuse(self, *, done: bool) -> None:
        """Proton refuses the next change that Bridge asks it for (422), or does it and says that it failed (`done`: 500)."""
        ...

    def mend(self) -> None:
        """Nothing is refused any more."""
        ...


def truth(state: Mapping[str, Mapping[str, object]]) -> dict[str, Truth]:
    """Read the state that the simulator, and Proton's engine in our tests, tell."""
    told = {}
    for key, one in state.items():
        names = frozenset("INBOX" if str(name).upper() == "INBOX" else str(name) for name in one["in"])  # type: ignore[attr-defined]
        labels = frozenset(name for name in names if name.startswith("Labels/"))
        told[key] = Truth(names - labels - VIEWS, labels, "Starred" in names, bool(one["unread"]))
    return told


class OnBridge:
    """The simulator or Proton's engine as a world. Events are held back until they are asked for."""

    kind: Kind = "bridge"

    def __init__(self, bridge: AnyBridge) -> None:
        self._bridge = bridge
        door = bridge.naive_door
        self.host, self.port = door.host, door.imap_port
        self.username, self.password = door.username, door.password

    def relay(self) -> Relay:
        return Relay(self.host, self.port)

    def truth(self) -> Mapping[str, Truth]:
        return truth(self._bridge.state())

    def mailboxes(self) -> frozenset[str]:
        return self._bridge.labels()

    def phone(self, key: str, label: str) -> None:
        self._bridge.elsewhere("label", key, label)

    def events(self) -> None:
        self._bridge.events()

    def rebuild(self) -> None:
        self._bridge.rebuild()

    def refuse(self, *, done: bool) -> None:
        self._bridge.refuse_calls(
            CHANGES, method="PUT|POST|DELETE", status=500 if done else 422, mode="after" if done else ""
        )

    def mend(self) -> None:
        self._bridge.mend()


Opening = Callable[[Sequence[GivenMessage]], AbstractAsyncContextManager[World]]
LABELS = [GivenLabel.from_path(path) for path in MAILBOXES]


@asynccontextmanager
async def on_simulator(messages: Sequence[GivenMessage]) -> AsyncIterator[World]:
    """A simulator whose account is Proton's as far as it is known."""
    async with bridges.simulated("real", LABELS, messages) as bridge:
        yield OnBridge(bridge)


def on_engine(server: GluonServer) -> Opening:
    """Proton's own engine with the same account behind it."""

    @asynccontextmanager
    async def opening(messages: Sequence[GivenMessage]) -> AsyncIterator[World]:
        async with bridges.on_engine(server, "real", LABELS, messages) as bridge:
            yield OnBridge(bridge)

    return opening


def given(key: str, *places: str, kind: str = "received", unread: bool = True) -> GivenMessage:
    """A message that every world can be given."""
    sender = "Anna <anna@example.org>" if kind == "received" else "Me <alice@proton.local>"
    raw = letter(key, number=sum(key.encode()), sender=sender, body=f"{key}\n" * (1 + sum(key.encode()) % 17))
    return GivenMessage(raw, key=key, places=places, flags=(kind,), unread=unread)
