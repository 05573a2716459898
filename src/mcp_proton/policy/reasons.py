"""Reasons: why a verdict is what it is, as types that print themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mcp_proton.domain.plan import Contact
from mcp_proton.domain.scopes import scopes_for
from mcp_proton.policy.rules import Rule, Verdict
from mcp_proton.policy.wording import doing

if TYPE_CHECKING:
    from mcp_proton.domain.effects import Effect
    from mcp_proton.domain.plan import Impact, Unfamiliar

_IS = {Verdict.ALLOW: "is allowed", Verdict.ASK: "needs the owner's approval", Verdict.DENY: "is denied"}


@dataclass(frozen=True, slots=True)
class RuleSays:
    """A rule, a preset's cell or a grant decided about an impact."""

    impact: Impact
    client: str
    rule: Rule

    @property
    def verdict(self) -> Verdict:
        """What it said."""
        return self.rule.verdict

    @property
    def source(self) -> str:
        """Where the owner finds it."""
        return self.rule.source

    def __str__(self) -> str:
        return f"{_what(self.impact)} {_IS[self.verdict]} for client `{self.client}` ({self.rule.source})"


@dataclass(frozen=True, slots=True)
class Unclassified:
    """Neither a preset nor a rule knows this effect."""

    effect: Effect
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "no preset"

    def __str__(self) -> str:
        return f"{doing(self.effect)} is denied until the owner's rules speak of it"


@dataclass(frozen=True, slots=True)
class OutOfScope:
    """The client's token was not given for this: no rule, preset or grant makes up for that."""

    effect: Effect
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "scopes"

    def __str__(self) -> str:
        needed = " or ".join(f"`{scope}`" for scope in scopes_for(self.effect))
        return f"{doing(self.effect)} is outside what the client's token was given for; it needs the scope {needed}"


@dataclass(frozen=True, slots=True)
class OwnersAlone:
    """Only the owner may do this, at the owner's own surface."""

    effect: Effect
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "fixed"

    def __str__(self) -> str:
        return f"{doing(self.effect)} is the owner's alone"


@dataclass(frozen=True, slots=True)
class OwnerMay:
    """The owner asks at the owner's own surface: presets and rules do not apply."""

    effect: Effect
    verdict: ClassVar[Verdict] = Verdict.ALLOW
    source: ClassVar[str] = "owner"

    def __str__(self) -> str:
        return f"{doing(self.effect)} is allowed for the owner"


@dataclass(frozen=True, slots=True)
class OwnerConfirms:
    """The owner asks for something that cannot be taken back."""

    effect: Effect
    verdict: ClassVar[Verdict] = Verdict.ASK
    source: ClassVar[str] = "owner"

    def __str__(self) -> str:
        return f"{doing(self.effect)} cannot be taken back and needs a second answer"


@dataclass(frozen=True, slots=True)
class NotChosen:
    """The owner has chosen no preset yet for this client and account (P-22)."""

    client: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "no preset chosen"

    def __str__(self) -> str:
        return f"the owner has not chosen yet what client `{self.client}` may do"


@dataclass(frozen=True, slots=True)
class UnknownClient:
    """A name the owner has not listed."""

    client: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "config.toml"

    def __str__(self) -> str:
        return f"client `{self.client}` is not one of the owner's clients"


@dataclass(frozen=True, slots=True)
class ClientRevoked:
    """The owner took this client's access away."""

    client: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "revoked"

    def __str__(self) -> str:
        return f"the owner has revoked client `{self.client}`"


@dataclass(frozen=True, slots=True)
class ClientPaused:
    """The owner paused this client."""

    client: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "paused"

    def __str__(self) -> str:
        return f"the owner has paused client `{self.client}`"


@dataclass(frozen=True, slots=True)
class AccountPaused:
    """The owner paused this account for every client."""

    account: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "paused"

    def __str__(self) -> str:
        return f"the owner has paused account `{self.account}`"


@dataclass(frozen=True, slots=True)
class Frozen:
    """Mail was lost by this effect on this account; it is shut until the owner has looked."""

    effect: Effect
    account: str
    verdict: ClassVar[Verdict] = Verdict.DENY
    source: ClassVar[str] = "frozen"

    def __str__(self) -> str:
        return (
            f"{doing(self.effect)} in `{self.account}` is shut since a message was lost, until the owner opens it again"
        )


@dataclass(frozen=True, slots=True)
class RecipientUnfamiliar:
    """Sending is allowed, and the recipient is one of whom the owner should hear first (N-7)."""

    who: Unfamiliar
    verdict: ClassVar[Verdict] = Verdict.ASK
    source: ClassVar[str] = "recipients not known"

    def __str__(self) -> str:
        return f"`{self.who.recipient}` {_CONTACTS[self.who.contact]}, so the owner is asked"


@dataclass(frozen=True, slots=True)
class HostUnnamed:
    """Fetching is allowed, and the host is none that the owner named: an address can carry data out (J-26, N-7)."""

    host: str
    verdict: ClassVar[Verdict] = Verdict.ASK
    source: ClassVar[str] = "hosts not named"

    def __str__(self) -> str:
        return f"`{self.host}` is not among the owner's `fetch_hosts`, so the owner is asked"


_CONTACTS = {
    Contact.FIRST: "was not found among those the owner wrote to or heard from",
    Contact.ONLY_RECEIVED: "is known from received mail only, and the owner never wrote there",
}


@dataclass(frozen=True, slots=True)
class Unproved:
    """The effect table is not proved on the version of the server: whatever the rules allow, the owner is asked (N-8)."""

    account: str
    verb: str
    verdict: ClassVar[Verdict] = Verdict.ASK
    source: ClassVar[str] = "unproved"

    def __str__(self) -> str:
        return (
            f"what `{self.verb}` does in `{self.account}` is not proved on this version of the server, so the owner is asked; "
            "`mcp-proton doctor --prove` proves it"
        )


Reason = (
    RuleSays
    | Unclassified
    | OutOfScope
    | OwnersAlone
    | OwnerMay
    | OwnerConfirms
    | NotChosen
    | UnknownClient
    | ClientRevoked
    | ClientPaused
    | AccountPaused
    | Frozen
    | RecipientUnfamiliar
    | HostUnnamed
    | Unproved
)
"""Every reason has `verdict`, `source` and a sentence (`str`)."""


def _what(impact: Impact) -> str:
    where = ""
    if impact.scope.mailbox is not None:
        where = f" in `{impact.scope.mailbox}`"
    if impact.scope.account is not None:
        where += f" of `{impact.scope.account}`" if where else f" in `{impact.scope.account}`"
    return f"{doing(impact.effect)}{where}"
