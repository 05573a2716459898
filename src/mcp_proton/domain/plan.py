"""Plan: what a request would do, told before it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an effect falls: an account, and inside it one mailbox or (None) no mailbox in particular."""

    account: str | None = None
    mailbox: str | None = None
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Impact:
    """One effect on one scope: the unit that policy judges."""

    effect: Effect
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True, order=True)
class Doubt:
    """A verb whose effect is not proved on the version of the server that an account is on (N-8)."""

    account: str
    verb: str


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One thing the owner must see before answering. `untrusted` marks text that a stranger wrote."""

    label: str
    value: str
    untrusted: bool = False
    risk: bool = False


class Contact(StrEnum):
    """How far a recipient is from being known well enough to be written to unasked."""

    FIRST = "first_contact"
    """The owner never wrote to them or heard from them."""
    ONLY_RECEIVED = "only_received"
    """The address is known from received mail alone: whoever wrote that mail chose it."""


@dataclass(frozen=True, slots=True)
class Unfamiliar:
    """A recipient, and why the owner is asked about them even where sending is allowed (N-7)."""

    recipient: str
    contact: Contact


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a decision needs. Plans add up: `ready | doing`. `hosts` are those that files are fetched from."""

    impacts: frozenset[Impact] = frozenset()
    targets: tuple[Handle, ...] = ()
    recipients: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    review: tuple[ReviewLine, ...] = field(default=())
    unfamiliar: tuple[Unfamiliar, ...] = ()
    doubts: frozenset[Doubt] = frozenset()

    def __or__(self, other: Plan) -> Plan:
        return Plan(
            impacts=self.impacts | other.impacts,
            targets=tuple(dict.fromkeys((*self.targets, *other.targets))),
            recipients=tuple(dict.fromkeys((*self.recipients, *other.recipients))),
            paths=tuple(dict.fromkeys((*self.paths, *other.paths))),
            hosts=tuple(dict.fromkeys((*self.hosts, *other.hosts))),
            review=(*self.review, *other.review),
            unfamiliar=tuple(dict.fromkeys((*self.unfamiliar, *other.unfamiliar))),
            doubts=self.doubts | other.doubts,
        )

    @property
    def effects(self) -> frozenset[Effect]:
        """The effects of all impacts."""
        return frozenset(impact.effect for impact in self.impacts)

    @property
    def accounts(self) -> frozenset[str]:
        """The accounts that are touched."""
        return frozenset(impact.scope.account for impact in self.impacts if impact.scope.account)

    def units(self, effect: Effect, account: str | None = None) -> int:
        """Return how much this counts against a limit: one mail for SEND, else the messages touched, at least one.

        In an account that none of the messages is of yet, all of them count: they are put there.
        """
        if effect is Effect.SEND:
            return 1
        own = sum(1 for handle in self.targets if account is None or handle.account == account)
        return own or max(1, len(self.targets))
