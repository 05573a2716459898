"""Boundaries: limits that no rule, preset or grant can widen (P-15, P-18).

A fence is a set of boundaries drawn for everything, for one client or for one account. Every fence that applies must
be kept; there is no way to say "except", so adding one can only narrow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.limits import Limit
from mcp_proton.policy.breaches import (
    AccountOutside,
    Breach,
    HostOutside,
    MailboxOutside,
    NoFolder,
    PathOutside,
    RecipientOutside,
    TooMany,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.plan import Impact, Plan
    from mcp_proton.policy.rules import Place

FOLDER_KEYS: Mapping[Effect, str] = {
    Effect.EXPORT: "export_directories",
    Effect.IMPORT: "import_directories",
    Effect.INGEST: "attach_directories",
}
"""Which key names the folders for which effect."""

ON_EXISTING_MAIL = frozenset({Effect.READ, Effect.ORGANIZE, Effect.DESTROY})
"""Effects that always fall on some mailbox: where a plan names none, it could be any."""

_ADDRESS = re.compile(r'([^\s@<>(),:;"\[\]\\]+)@([^\s@<>(),:;"\[\]\\]+)')


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so much of an effect in a span: mails for SEND, messages for everything else."""

    effect: Effect
    most: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Fence:
    """Boundaries with the scope they were drawn for. None means: no boundary of this kind here.

    `recipients` holds addresses (`anna@example.org`), domains (`@example.org`) and domains with all below them
    (`@*.example.org`); `hosts` holds hosts (`files.example.org`) and all below one (`*.example.org`). `folders` holds, per
    effect, the absolute folders whose files may be touched.
    """

    source: str
    client: str | None = None
    account: str | None = None
    accounts: frozenset[str] | None = None
    mailboxes: tuple[Place, ...] | None = None
    recipients: frozenset[str] | None = None
    hosts: frozenset[str] | None = None
    folders: Mapping[Effect, tuple[Path, ...]] = field(default_factory=dict)
    max_batch: int | None = None
    max_recipients: int | None = None
    rates: tuple[Rate, ...] = ()

    def applies(self, caller: Caller, plan: Plan) -> bool:
        """Whether it stands in the way of this caller's plan. A client's fence does not hold the owner."""
        if self.client is not None and (caller.is_owner or self.client != caller.name):
            return False
        return self.account is None or self.account in plan.accounts

    def limits(self, plan: Plan) -> Iterator[Limit]:
        """Yield what must be counted before this plan may go on."""
        for rate in self.rates:
            if rate.effect in plan.effects:
                yield Limit(rate.effect, rate.most, rate.seconds, self.client, self.account, self.source)

    def breaches(self, plan: Plan) -> Iterator[Breach]:
        """Yield every boundary that the plan crosses, rates apart."""
        for impact in plan.impacts:
            if self.account is None or impact.scope.account == self.account:
                yield from self._scope(impact)
        yield from self._crowds(plan)
        if self.recipients is not None:
            for recipient in plan.recipients:
                if not reaches(self.recipients, recipient):
                    yield RecipientOutside(f"`recipients` of {self.source}", recipient)
        if self.hosts is not None:
            for host in plan.hosts:
                if not names(self.hosts, host):
                    yield HostOutside(f"`fetch_hosts` of {self.source}", host)
        for effect in plan.effects & self.folders.keys():
            for path in plan.paths:
                if not any(inside(path, folder) for folder in self.folders[effect]):
                    yield PathOutside(f"`{FOLDER_KEYS[effect]}` of {self.source}", effect, path)

    def _scope(self, impact: Impact) -> Iterator[Breach]:
        scope = impact.scope
        if self.accounts is not None and scope.account is not None and scope.account not in self.accounts:
            yield AccountOutside(f"`accounts` of {self.source}", scope.account)
        if self.mailboxes is None:
            return
        unnamed = scope.mailbox is None
        if (unnamed and impact.effect in ON_EXISTING_MAIL) or not (
            unnamed or any(place.holds(scope) for place in self.mailboxes)
        ):
            yield MailboxOutside(f"`mailboxes` of {self.source}", scope.account, scope.mailbox)

    def _crowds(self, plan: Plan) -> Iterator[Breach]:
        targets = sum(1 for handle in plan.targets if self.account is None or handle.account == self.account)
        if self.max_batch is not None and targets > self.max_batch:
            yield TooMany(f"`max_batch` of {self.source}", "messages", targets, self.max_batch)
        if self.max_recipients is not None and len(plan.recipients) > self.max_recipients:
            yield TooMany(f"`max_recipients` of {self.source}", "recipients", len(plan.recipients), self.max_recipients)


def closed_folders(fences: tuple[Fence, ...], plan: Plan) -> Iterator[Breach]:
    """Yield a breach for each effect on local files for which no fence that applies names a folder.

    Local files are shut until the owner opens a folder: here, and here only, silence is a boundary.
    """
    if not plan.paths:
        return
    for effect, key in FOLDER_KEYS.items():
        if effect in plan.effects and not any(effect in fence.folders for fence in fences):
            yield NoFolder("policy.toml", effect, key)


def reaches(allowed: frozenset[str], recipient: str) -> bool:
    """Whether an address is one of those allowed. What cannot be read as one plain address never is."""
    found = _ADDRESS.fullmatch(recipient.strip())
    if found is None:
        return False
    local, domain = found[1].casefold(), ascii_domain(found[2])
    if domain is None:
        return False
    above = domain.split(".")
    return (
        f"{local}@{domain}" in allowed
        or f"@{domain}" in allowed
        or any(f"@*.{'.'.join(above[start:])}" in allowed for start in range(1, len(above)))
    )


def names(allowed: frozenset[str], host: str) -> bool:
    """Whether a host (ASCII, lower case) is one of those allowed, or below one that stands for all below it."""
    above = host.split(".")
    return host in allowed or any(f"*.{'.'.join(above[start:])}" in allowed for start in range(1, len(above)))


def ascii_domain(domain: str) -> str | None:
    """Return the domain in its ASCII form and lower case, or None when it has none."""
    if domain.isascii():
        return domain.lower().rstrip(".")
    try:
        return domain.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        return None


def inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder by its spelling alone. One with `..`, or a relative one, lies nowhere."""
    return PurePath(path).is_absolute() and ".." not in path.parts and path.is_relative_to(folder)
