"""The seam of the fault matrix: an account behind a Bridge, as the matrix needs it.

To let the matrix run on another server, give it a class with the members of `World` and add it to `WORLDS`: where it
listens without TLS (or a forwarder before it that takes the TLS off), what another device does, what the account holds
in truth. Faults of the wire are the relay's and need nothing from a world.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from mcp_proton.simulator import GivenLabel, GivenMessage, GivenUser, Simulator
from tests.contract import worlds
from tests.contract.letters import letter

MAILBOXES = ("Folders/Work", "Folders/Empty", "Folders/Other", "Labels/Blue", "Labels/Red")
CHANGES = "/messages/|/labels"
"""the paths of the API's calls that change something"""
VIEWS = frozenset({"All Mail", "AllSent", "AllDrafts", "All Sent", "All Drafts", "Starred"})


@dataclass(frozen=True)
class Truth:
    """A message as the account has it: its places (one, or it is an orphan), its labels, star, whether it is unread."""

    places: frozenset[str]
    labels: frozenset[str]
    starred: bool
    unread: bool


class World(Protocol):
    """An account with mail in it. Keys are the messages' subjects as well."""

    host: str
    port: int
    username: str
    password: str

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


class OnSimulator:
    """The simulator as a world."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.host, self.port = simulator.host, simulator.imap_port
        self.username, self.password = simulator.username, simulator.password

    def truth(self) -> Mapping[str, Truth]:
        return truth(self._simulator.state())

    def mailboxes(self) -> frozenset[str]:
        account = self._simulator.account()
        return frozenset(account.label_path(label) for label in account.labels.values())

    def phone(self, key: str, label: str) -> None:
        account = self._simulator.account()
        account.label([account.find(key).id], account.label_id(label))

    def events(self) -> None:
        self._simulator.release_events()

    def rebuild(self) -> None:
        self._simulator.rebuild_uidvalidity()

    def refuse(self, *, done: bool) -> None:
        self._simulator.faults.fail_api(
            CHANGES, method="PUT|POST|DELETE", status=500 if done else 422, mode="after" if done else ""
        )

    def mend(self) -> None:
        self._simulator.faults.clear()


@asynccontextmanager
async def on_simulator(messages: Sequence[GivenMessage]) -> AsyncIterator[World]:
    """A simulator whose account is Proton's as far as it is known."""
    labels = [GivenLabel.from_path(path) for path in MAILBOXES]
    user = GivenUser("alice", ["alice@proton.local"], labels, list(messages))
    async with Simulator(users=[user], certificate=worlds.CERTIFICATE) as simulator:
        yield OnSimulator(simulator)


Opening = Callable[[Sequence[GivenMessage]], AbstractAsyncContextManager[World]]
WORLDS: dict[str, Opening] = {"simulator": on_simulator}


def given(key: str, *places: str, kind: str = "received", unread: bool = True) -> GivenMessage:
    """A message that every world can be given."""
    sender = "Anna <anna@example.org>" if kind == "received" else "Me <alice@proton.local>"
    raw = letter(key, number=sum(key.encode()), sender=sender, body=f"{key}\n" * (1 + sum(key.encode()) % 17))
    return GivenMessage(raw, key=key, places=places, flags=(kind,), unread=unread)
