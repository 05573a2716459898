"""From the owner's policy document to a Policy; every complaint names its key.

preset = "assistant"                  # reader, assistant, autonomous or custom
approval_minutes = 15                 # how long a question to the owner stays open

[custom]                              # only for the preset custom, which starts as assistant
send = "deny"

[[rules]]
effect = "send"                       # one effect, a list of them, or "*" for all
verdict = "deny"                      # allow, ask or deny
client = "hermes"                     # each of these narrows the rule; leave out what it shall not depend on
account = "work"
mailbox = "Folders/Taxes"             # a path, a path with all below it ("Folders/*"), or a role ("trash")
until = 2026-12-24T18:00:00Z          # the rule ends by itself

[boundaries]                          # no rule widens them
accounts = ["personal"]
mailboxes = ["inbox", "Folders/*"]
recipients = ["anna@example.org", "@example.com", "@*.example.net"]
fetch_hosts = ["files.example.org", "*.example.net"]
export_directories = ["~/Mail"]       # import_directories and attach_directories likewise; none named: none open
max_batch = 100
max_recipients = 10
rates = { send = "20/hour", destroy = "100/day" }

[clients.hermes]                      # another preset, or more boundaries, for one client
preset = "reader"
boundaries = { max_batch = 10 }

[accounts.work]                       # or for one account
preset = "reader"
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
)

from mcp_proton.domain.complaint import Complaint, Key, Misconfigured, from_validation, nearest
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.web_address import host_name
from mcp_proton.policy.boundaries import FOLDER_KEYS, Fence, Rate, ascii_domain
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import GRANTABLE, Place, Rule, Verdict
from mcp_proton.policy.wording import PERIODS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

_RATE = re.compile(rf"([1-9][0-9]{{0,8}})/({'|'.join(PERIODS)})")


def _effect(word: str) -> str:
    if word == Effect.ADMINISTER:
        raise ValueError("the rules themselves are the owner's alone and no rule gives them away")
    if word != "*" and word not in GRANTABLE:
        raise ValueError(f"must be one of {', '.join(sorted(GRANTABLE))} or *{nearest(word, GRANTABLE)}")
    return word


def _effect_words(found: object) -> tuple[str, ...]:
    words = [found] if isinstance(found, str) else found
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ValueError('must be an effect, a list of them, or "*"')
    return tuple(_effect(word) for word in words)


def _verdict(word: str) -> str:
    if word not in ("allow", "ask", "deny"):
        raise ValueError("must be allow, ask or deny")
    return word


def _preset(word: str) -> str:
    if word not in frozenset(Preset):
        raise ValueError(f"must be one of {', '.join(Preset)}{nearest(word, Preset)}")
    return word


def _place(text: str) -> str:
    segment = text.removeprefix("path:").rstrip("*")
    whole_branch = text.endswith(("/*", ".*", "\\*")) and len(segment) > 1
    if not segment or "*" in segment or "%" in segment or (text.endswith("*") and not whole_branch):
        raise ValueError('must be a role word, a path, or a path ending in "/*" for all below it')
    return text


def _recipient(text: str) -> str:
    local, at, domain = text.rpartition("@")
    plain = ascii_domain(domain.removeprefix("*."))
    if not at or not plain or "*" in plain or "*" in local or any(c.isspace() or c in "<>," for c in text):
        raise ValueError('must be an address, "@domain", or "@*.domain" for all below it')
    if domain.startswith("*."):
        if local:
            raise ValueError('must be an address, "@domain", or "@*.domain" for all below it')
        return f"@*.{plain}"
    return f"{local.casefold()}@{plain}"


def _fetched_from(text: str) -> str:
    name = host_name(text.removeprefix("*."))
    if name is None:
        raise ValueError('must be a host, such as "files.example.org", or "*.example.org" for all below it')
    return f"*.{name}" if text.startswith("*.") else name


def _rate(text: str) -> str:
    if _RATE.fullmatch(text) is None:
        raise ValueError(f'must be like "20/hour" ({", ".join(PERIODS)})')
    return text


EffectWords = Annotated[tuple[str, ...], BeforeValidator(_effect_words)]
EffectWord = Annotated[str, AfterValidator(_effect)]
VerdictWord = Annotated[str, AfterValidator(_verdict)]
PresetWord = Annotated[str, AfterValidator(_preset)]
PlaceText = Annotated[str, AfterValidator(_place)]
Recipient = Annotated[str, AfterValidator(_recipient)]
HostText = Annotated[str, AfterValidator(_fetched_from)]
RateText = Annotated[str, AfterValidator(_rate)]
Count = Annotated[StrictInt, Field(ge=0)]


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class RuleTable(_Closed):
    """One `[[rules]]`."""

    effect: EffectWords
    verdict: VerdictWord
    client: str | None = None
    account: str | None = None
    mailbox: PlaceText | None = None
    until: AwareDatetime | None = None
    note: str = ""


class BoundaryTable(_Closed):
    """One `boundaries` table."""

    accounts: list[str] | None = None
    mailboxes: list[PlaceText] | None = None
    recipients: list[Recipient] | None = None
    fetch_hosts: list[HostText] | None = None
    export_directories: list[str] | None = None
    import_directories: list[str] | None = None
    attach_directories: list[str] | None = None
    max_batch: Count | None = None
    max_recipients: Count | None = None
    rates: dict[EffectWord, RateText] = {}


class ScopeTable(_Closed):
    """`[clients.NAME]` or `[accounts.NAME]`."""

    preset: PresetWord | None = None
    boundaries: BoundaryTable = BoundaryTable()


class PolicyTable(_Closed):
    """The whole document."""

    preset: PresetWord | None = None
    approval_minutes: Annotated[StrictInt, Field(ge=1, le=10_080)] = 15
    custom: dict[EffectWord, VerdictWord] = {}
    rules: list[RuleTable] = []
    boundaries: BoundaryTable = BoundaryTable()
    clients: dict[str, ScopeTable] = {}
    accounts: dict[str, ScopeTable] = {}


class PolicyReader:
    """Reads documents into policies.

    `home` stands for `~`; `resolve` follows links, so that folders compare with paths that were resolved likewise.
    Where `clients` or `accounts` are given, a name that is not among them is a complaint: a rule for a misspelt client
    would silently bind nobody.
    """

    def __init__(
        self,
        home: Path,
        *,
        resolve: Callable[[Path], Path] = lambda path: path,
        clients: Collection[str] | None = None,
        accounts: Collection[str] | None = None,
    ) -> None:
        self._home = home
        self._resolve = resolve
        self._clients = clients
        self._accounts = accounts

    def read(self, document: Mapping[str, object]) -> Policy:
        """Return the policy. Raises `Misconfigured` with every complaint at once."""
        try:
            table = PolicyTable.model_validate(document)
        except ValidationError as error:
            raise from_validation(error, PolicyTable) from None
        complaints = [*self._unknown_names(table), *self._bad_folders(table)]
        if complaints:
            raise Misconfigured(complaints)
        return Policy(
            presets=tuple(_choices(table)),
            rules=tuple(_rule(rule, number) for number, rule in enumerate(table.rules, 1)),
            fences=tuple(self._fences(table)),
            custom={effect: Verdict.of(word) for key, word in table.custom.items() for effect in _effects(key)},
            clients=frozenset(self._clients or ()),
            approval_lifetime=timedelta(minutes=table.approval_minutes),
        )

    def _unknown_names(self, table: PolicyTable) -> Iterator[Complaint]:
        for key, name in _names(table, "client"):
            if self._clients is not None and name not in self._clients:
                yield Complaint(key, f"is not one of the clients in config.toml{nearest(name, self._clients)}")
        for key, name in _names(table, "account"):
            if self._accounts is not None and name not in self._accounts:
                yield Complaint(key, f"is not one of the accounts in config.toml{nearest(name, self._accounts)}")

    def _bad_folders(self, table: PolicyTable) -> Iterator[Complaint]:
        for where, _, _, boundaries in _boundary_tables(table):
            for name in FOLDER_KEYS.values():
                for number, text in enumerate(getattr(boundaries, name) or ()):
                    if not self._folder(text).is_absolute():
                        yield Complaint((*where, name, number), "must be an absolute path, or begin with ~/")

    def _folder(self, text: str) -> Path:
        return self._home / text[2:] if text.startswith("~/") else self._home if text == "~" else Path(text)

    def _fences(self, table: PolicyTable) -> Iterator[Fence]:
        for where, client, account, limits in _boundary_tables(table):
            if limits == BoundaryTable():
                continue
            yield Fence(
                source=f"`{'.'.join(map(str, where))}`",
                client=client,
                account=account,
                accounts=None if limits.accounts is None else frozenset(limits.accounts),
                mailboxes=None if limits.mailboxes is None else tuple(map(Place, limits.mailboxes)),
                recipients=None if limits.recipients is None else frozenset(limits.recipients),
                hosts=None if limits.fetch_hosts is None else frozenset(limits.fetch_hosts),
                folders={
                    effect: tuple(self._resolve(self._folder(text)) for text in getattr(limits, key))
                    for effect, key in FOLDER_KEYS.items()
                    if getattr(limits, key) is not None
                },
                max_batch=limits.max_batch,
                max_recipients=limits.max_recipients,
                rates=tuple(_rates(limits)),
            )


def _choices(table: PolicyTable) -> Iterator[Choice]:
    if table.preset is not None:
        yield Choice(Preset(table.preset))
    for name, scope in table.clients.items():
        if scope.preset is not None:
            yield Choice(Preset(scope.preset), client=name)
    for name, scope in table.accounts.items():
        if scope.preset is not None:
            yield Choice(Preset(scope.preset), account=name)


def _rule(table: RuleTable, number: int) -> Rule:
    return Rule(
        Verdict.of(table.verdict),
        frozenset(effect for word in table.effect for effect in _effects(word)),
        table.client,
        table.account,
        Place(table.mailbox) if table.mailbox is not None else None,
        table.until,
        f"rule {number}",
    )


def _effects(word: str) -> frozenset[Effect]:
    return GRANTABLE if word == "*" else frozenset({Effect(word)})


def _rates(limits: BoundaryTable) -> Iterator[Rate]:
    for word, text in limits.rates.items():
        most, _, span = text.partition("/")
        for effect in sorted(_effects(word)):
            yield Rate(effect, int(most), PERIODS[span])


def _boundary_tables(table: PolicyTable) -> Iterator[tuple[Key, str | None, str | None, BoundaryTable]]:
    yield ("boundaries",), None, None, table.boundaries
    for name, scope in table.clients.items():
        yield ("clients", name, "boundaries"), name, None, scope.boundaries
    for name, scope in table.accounts.items():
        yield ("accounts", name, "boundaries"), None, name, scope.boundaries


def _names(table: PolicyTable, kind: str) -> Iterator[tuple[Key, str]]:
    for name in getattr(table, f"{kind}s"):
        yield (f"{kind}s", name), name
    for number, rule in enumerate(table.rules):
        name = getattr(rule, kind)
        if name is not None:
            yield ("rules", number, kind), name
    if kind == "account":
        for where, _, _, boundaries in _boundary_tables(table):
            for number, name in enumerate(boundaries.accounts or ()):
                yield (*where, "accounts", number), name
