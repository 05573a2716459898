"""A Bridge with an account behind it, for tests that hold on both: the simulator, and Proton's own engine.

`SimulatedBridge` and `EngineBridge` have the same strings to pull: mail arrives, another device acts, Bridge hears of it, calls
of the API fail, and a connection breaks at a named step.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mcp_proton.simulator import GivenLabel, GivenUser, Simulator, make_certificate
from mcp_proton.simulator.proton.account import NoSuchLabelError
from tests.servers.gluon_server import OrderRefusedError
from tests.servers.relay import Over, Relay, Step, Trap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.simulator import GivenMessage
    from mcp_proton.simulator.proton.account import Model
    from tests.servers.gluon_server import Gluon, GluonServer
    from tests.servers.relay import Passage

CERTIFICATE = make_certificate()
Strike = Literal["drop", "delay", "refuse"]
"""what happens at a step: the connection ends without a word, the command waits, or NO is its answer"""
ElsewhereVerb = Literal["label", "unlabel", "read", "unread", "flag", "delete", "make", "drop", "rename"]


class NotThereError(LookupError):
    """What another device was to act upon does not exist."""


class Door(Protocol):
    """Where a Bridge is, and who may log in. Without a certificate it is spoken to in the clear."""

    @property
    def host(self) -> str: ...

    @property
    def imap_port(self) -> int: ...

    @property
    def certificate_pem(self) -> str | None: ...

    @property
    def username(self) -> str: ...

    @property
    def password(self) -> str: ...


class AnyBridge(Protocol):
    """A Bridge and the account behind it. `door` is what our backend goes through, `naive_door` anybody else."""

    model: Model
    door: Door
    naive_door: Door

    def deliver(self, raw: bytes, **given: Any) -> None:
        """Mail reaches the account; the keywords are GivenMessage's. Bridge isn't told yet."""
        ...

    def events(self) -> None:
        """Bridge hears of everything, and so do its sessions."""
        ...

    def elsewhere(self, what: ElsewhereVerb, name: str, to: str = "") -> None:
        """Another device acts on a message (by key) or a label (by path); Bridge isn't told. Raises NotThereError.

        `label` and `unlabel` take a place or a label as `to`, `flag` one of Proton's flags, `rename` the new name.
        """
        ...

    def state(self) -> dict[str, dict[str, Any]]:
        """The account's truth: each message's `in`, `flags`, `unread`, `subject`, by key (or id)."""
        ...

    def labels(self) -> frozenset[str]:
        """The paths of the folders and labels the account has."""
        ...

    def repair(self) -> None:
        """Everything is loaded anew: other UIDVALIDITYs, other UIDs; sessions end."""
        ...

    def rebuild(self) -> None:
        """Every mailbox gets a new UIDVALIDITY under the sessions' feet."""
        ...

    async def restart(self) -> None:
        """Bridge stops and starts on the same port."""
        ...

    async def network(self, *, on: bool) -> None:
        """Lose or regain the network: without it the port is closed and all sessions end."""
        ...

    def empty_cache(self) -> None:
        """Bridge's copies of all messages are gone; it asks the API for them."""
        ...

    def at(self, step: str, *, action: Strike, seconds: float = 0.0) -> None:
        """The next time our backend gets to `before VERB` or `after VERB`, this happens."""
        ...

    def refuse_calls(self, path: str, *, skip: int = 0, **how: Any) -> None:
        """The next `count` calls (-1: all) of the API that match are refused, after `skip` of them went well.

        `method`, `count`, `status`, `message`, `mode` are those of both fault scripts; by default one call, 500, not done.
        """
        ...

    def mend(self) -> None:
        """Calls of the API go well again."""
        ...


# -- the simulator


class SimulatedBridge:
    """The simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.model: Model = simulator.account().model
        self.door: Door = simulator
        self.naive_door: Door = simulator

    def deliver(self, raw: bytes, **given: Any) -> None:
        self.simulator.deliver(raw, **given)

    def events(self) -> None:
        self.simulator.release_events()

    def elsewhere(self, what: ElsewhereVerb, name: str, to: str = "") -> None:
        try:
            self._do(what, name, to)
        except (NoSuchLabelError, StopIteration):
            raise NotThereError(name) from None

    def _do(self, what: ElsewhereVerb, name: str, to: str) -> None:
        account = self.simulator.account()
        match what:
            case "label":
                account.label([account.find(name).id], account.label_id(to))
            case "unlabel":
                account.unlabel([account.find(name).id], account.label_id(to))
            case "read" | "unread":
                account.set_read([account.find(name).id], read=what == "read")
            case "flag":
                account.set_flag([account.find(name).id], to)
            case "delete":
                account.delete([account.find(name).id])
            case "make":
                account.add_label(GivenLabel.from_path(name))
            case "drop":
                account.delete_label(account.label_by_path(name).id)
            case "rename":
                label = account.label_by_path(name)
                account.change_label(label.id, name=to, parent=label.parent)

    def state(self) -> dict[str, dict[str, Any]]:
        return self.simulator.state()

    def labels(self) -> frozenset[str]:
        account = self.simulator.account()
        return frozenset(account.label_path(label) for label in account.labels.values())

    def repair(self) -> None:
        self.simulator.repair()

    def rebuild(self) -> None:
        self.simulator.rebuild_uidvalidity()

    async def restart(self) -> None:
        await self.simulator.restart()

    async def network(self, *, on: bool) -> None:
        await (self.simulator.go_online() if on else self.simulator.go_offline())

    def empty_cache(self) -> None:
        self.simulator.empty_message_cache()

    def at(self, step: str, *, action: Strike, seconds: float = 0.0) -> None:
        self.simulator.faults.at(step, action=action, seconds=seconds)

    def refuse_calls(self, path: str, *, skip: int = 0, **how: Any) -> None:
        self.simulator.faults.fail_api(path, skip=skip, **how)

    def mend(self) -> None:
        self.simulator.faults.api.clear()


# -- the engine


class EngineBridge:
    """Proton's engine with an account of ours. Our backend goes through the relay, where there is one to strike it at."""

    def __init__(self, gluon: Gluon, model: Model, through: Relay | None) -> None:
        self.gluon = gluon
        self.model = model
        self._relay = through
        self.door: Door = gluon if through is None else _ThroughRelay(gluon, through)
        self.naive_door: Door = gluon

    def deliver(self, raw: bytes, **given: Any) -> None:
        self.gluon.deliver(raw, **given)

    def events(self) -> None:
        began = time.monotonic()
        self.gluon.events()
        # The engine's sessions are told a moment after its database is; the moments of a busy machine are longer.
        time.sleep(0.02 + 5 * (time.monotonic() - began))

    def elsewhere(self, what: ElsewhereVerb, name: str, to: str = "") -> None:
        try:
            self._do(what, name, to)
        except OrderRefusedError:
            raise NotThereError(name) from None

    def _do(self, what: ElsewhereVerb, name: str, to: str) -> None:
        gluon = self.gluon
        match what:
            case "label" | "unlabel":
                gluon.elsewhere(what, name, to=to)
            case "read" | "unread":
                gluon.elsewhere("mark read", name, on=what == "read")
            case "flag":
                gluon.elsewhere("set flag", name, flag=to, on=True)
            case "delete":
                gluon.elsewhere("delete", name)
            case "make":
                gluon.add_label(name)
            case "drop":
                gluon.elsewhere("delete label", path=name)
            case "rename":
                gluon.elsewhere("change label", path=name, name=to)

    def state(self) -> dict[str, dict[str, Any]]:
        return self.gluon.state()

    def labels(self) -> frozenset[str]:
        return self.gluon.labels()

    def repair(self) -> None:
        self.gluon.repair()

    def rebuild(self) -> None:
        self.gluon.renumber()

    async def restart(self) -> None:
        self.gluon.restart()

    async def network(self, *, on: bool) -> None:
        self.gluon.network(on=on)

    def empty_cache(self) -> None:
        self.gluon.empty_cache()

    def at(self, step: str, *, action: Strike, seconds: float = 0.0) -> None:
        async def strike(passage: Passage, answer: bytes) -> bytes:
            match action:
                case "drop":
                    raise Over
                case "delay":
                    await asyncio.sleep(seconds)
                case "refuse":
                    return passage.tag + b" NO simulated fault\r\n"
            return answer

        assert self._relay is not None, "a connection is struck at the relay only"
        when, _, verb = step.partition(" ")
        assert when in ("before", "after")
        self._relay.arm(Trap(Step(verb, 0), when, strike))

    def refuse_calls(self, path: str, *, skip: int = 0, **how: Any) -> None:
        if skip:
            # A delay of nothing takes a call out of the count and lets it go well.
            self.gluon.fail(path, count=skip, mode="delay")
        self.gluon.fail(path, **how)

    def mend(self) -> None:
        self.gluon.mend()


class _ThroughRelay:
    certificate_pem = None

    def __init__(self, gluon: Gluon, through: Relay) -> None:
        self.host = gluon.host
        self.imap_port = through.port
        self.username = gluon.username
        self.password = gluon.password


# -- made


@asynccontextmanager
async def simulated(
    model: Model, labels: Sequence[GivenLabel] = (), messages: Sequence[GivenMessage] = (), **how: Any
) -> AsyncIterator[SimulatedBridge]:
    """The simulator with one account, alice's."""
    async with Simulator(users=[_alice(labels, messages)], certificate=CERTIFICATE, model=model, **how) as simulator:
        yield SimulatedBridge(simulator)


@asynccontextmanager
async def on_engine(
    server: GluonServer,
    model: Model,
    labels: Sequence[GivenLabel] = (),
    messages: Sequence[GivenMessage] = (),
    *,
    relayed: bool = False,
) -> AsyncIterator[EngineBridge]:
    """Proton's engine with one account, alice's. `relayed`: connections of our backend can be broken, and have no TLS."""
    with server.bridge([_alice(labels, messages)], model=model) as gluon:
        if not relayed:
            yield EngineBridge(gluon, model, None)
            return
        async with Relay(gluon.host, gluon.imap_port) as through:
            yield EngineBridge(gluon, model, through)


def _alice(labels: Sequence[GivenLabel], messages: Sequence[GivenMessage]) -> GivenUser:
    return GivenUser("alice", ["alice@proton.local"], list(labels), list(messages))
