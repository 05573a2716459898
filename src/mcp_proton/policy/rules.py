"""Verdict, Place and Rule: what the owner says, about which effects, where and until when.

A preset's cell, an owner's rule and a grant are the same value: a cell is a rule that is `baseline`, a grant is a rule
with an end (`until`). Which one counts is a matter of specificity only; their order never matters (P-14).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from enum import IntEnum
from operator import ge
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.mail import Role

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.domain.plan import Scope

_EXACT = 1_000


class Verdict(IntEnum):
    """ALLOW < ASK < DENY: the greater one is the stricter one."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """The word the owner writes."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Verdict:
        """Read the owner's word. Raises KeyError on any other."""
        return {"allow": cls.ALLOW, "ask": cls.ASK, "deny": cls.DENY}[word]


GRANTABLE = frozenset(Effect) - {Effect.ADMINISTER}
"""The effects a rule may speak of. Changing the rules is the owner's alone, whatever a rule says (P-19)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which mailboxes: a role word (`inbox`), one path (`Folders/Taxes`), or a path with all below it (`Folders/*`).

    `path:archive` is the mailbox of that name where a bare word would be the role. Paths compare exactly, after
    Unicode normalisation; INBOX in any case (RFC 9051 §5.1).
    """

    text: str
    role: Role | None = field(init=False, compare=False, repr=False)
    path: str = field(init=False, compare=False, repr=False)
    below: bool = field(init=False, compare=False, repr=False)
    rank: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        role = Role(self.text) if self.text in frozenset(Role) else None
        path = "" if role else plain_path(self.text.removeprefix("path:"))
        below = path.endswith(("/*", ".*", "\\*"))
        depth = path.count(path[-2]) if below else 0
        rank = 1 if role else 1 + depth if below else _EXACT
        for name, value in (("role", role), ("path", path), ("below", below), ("rank", rank)):
            object.__setattr__(self, name, value)

    @property
    def is_path(self) -> bool:
        """Whether it is exactly one path."""
        return self.role is None and not self.below

    def holds(self, scope: Scope) -> bool:
        """Whether the scope's mailbox is one of these. A scope without a mailbox is in no place."""
        if scope.mailbox is None:
            return False
        if self.role is not None:
            return scope.role is self.role
        path = plain_path(scope.mailbox)
        if self.below:
            return path.startswith(self.path[:-1]) or path == self.path[:-2]
        return path == self.path

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Rule:
    """One verdict on some effects; whatever of client, account and place is None is not narrowed.

    `source` says in words where the owner finds it: `rule 3`, `preset assistant`, `grant g_7f3k`.
    """

    verdict: Verdict
    effects: frozenset[Effect]
    client: str | None = None
    account: str | None = None
    place: Place | None = None
    until: datetime | None = None
    source: str = "rule"
    baseline: bool = False
    rank: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        rank = (
            int(not self.baseline),
            int(self.client is not None),
            int(self.account is not None),
            self.place.rank if self.place else 0,
            int(not self.baseline and self.effects != GRANTABLE),
            int(self.until is not None),
        )
        object.__setattr__(self, "rank", rank)

    def speaks_of(self, client: str, scope: Scope, now: datetime) -> bool:
        """Whether it says anything about this client there, now."""
        return (
            (self.client is None or self.client == client)
            and (self.account is None or self.account == scope.account)
            and (self.until is None or now < self.until)
            and (self.place is None or self.place.holds(scope))
        )

    def outranks(self, other: Rule) -> bool:
        """Whether it is more specific in some respect and less specific in none.

        Two rules of which neither outranks the other are equally specific, and the stricter one counts.
        """
        mine, theirs = self.rank, other.rank
        return mine != theirs and all(map(ge, mine, theirs))


def plain_path(path: str) -> str:
    """Return the form in which paths are compared."""
    if path.isascii():
        return "INBOX" + path[5:] if path[:5].upper() == "INBOX" and path[5:6] in ("", "/", ".", "\\") else path
    return unicodedata.normalize("NFC", path)
