"""Breaches: which boundary a plan would cross, as types that print themselves. Never a sentence to search in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.policy.wording import doing, period

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.domain.effects import Effect
    from mcp_proton.domain.limits import Limit


@dataclass(frozen=True, slots=True)
class Breach:
    """A boundary crossed. `source` is where the owner drew it."""

    source: str


@dataclass(frozen=True, slots=True)
class AccountOutside(Breach):
    """An account the caller was not given."""

    account: str

    def __str__(self) -> str:
        return f"account `{self.account}` is outside {self.source}"


@dataclass(frozen=True, slots=True)
class MailboxOutside(Breach):
    """A mailbox outside the owner's choice; None: the plan names none, so it could be any."""

    account: str | None
    mailbox: str | None

    def __str__(self) -> str:
        if self.mailbox is None:
            return f"no mailbox is named, and {self.source} allows only some"
        return f"mailbox `{self.mailbox}` is outside {self.source}"


@dataclass(frozen=True, slots=True)
class RecipientOutside(Breach):
    """An address outside the owner's choice, or one that cannot be read as an address."""

    recipient: str

    def __str__(self) -> str:
        return f"recipient `{self.recipient}` is outside {self.source}"


@dataclass(frozen=True, slots=True)
class PathOutside(Breach):
    """A file outside the folders the owner named for this effect."""

    effect: Effect
    path: Path

    def __str__(self) -> str:
        return f"`{self.path}` is outside {self.source} ({doing(self.effect)})"


@dataclass(frozen=True, slots=True)
class HostOutside(Breach):
    """A host outside those the owner lets files be fetched from."""

    host: str

    def __str__(self) -> str:
        return f"host `{self.host}` is outside {self.source}"


@dataclass(frozen=True, slots=True)
class NoFolder(Breach):
    """The owner has named no folder at all for this effect."""

    effect: Effect
    key: str

    def __str__(self) -> str:
        return f"no folder is open for {doing(self.effect)} (`{self.key}` in {self.source})"


@dataclass(frozen=True, slots=True)
class TooMany(Breach):
    """More at once than the owner allows; `what` is messages or recipients."""

    what: str
    asked: int
    most: int

    def __str__(self) -> str:
        return f"{self.asked} {self.what} at once, and {self.source} allows {self.most}"


@dataclass(frozen=True, slots=True)
class UsedUp(Breach):
    """A rate the owner set would be exceeded."""

    limit: Limit
    used: int
    asked: int

    def __str__(self) -> str:
        limit = self.limit
        used = f"{self.used} of {limit.most} per {period(limit.seconds)} used"
        return f"{doing(limit.effect)}: {used}, {self.asked} more asked ({self.source})"
