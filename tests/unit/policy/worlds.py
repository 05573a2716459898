"""Values that the policy tests speak with, and strategies that make any of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.mail import Role
from mcp_proton.domain.plan import Impact, Plan, Scope
from mcp_proton.policy.boundaries import Fence, Rate
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import GRANTABLE, Place, Rule, Verdict

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
CLIENTS = ("hermes", "goose")
ACCOUNTS = ("personal", "work")
MAILBOXES = (
    ("INBOX", Role.INBOX),
    ("Folders/Taxes", Role.FOLDER),
    ("Folders/Taxes/2026", Role.FOLDER),
    ("Trash", Role.TRASH),
)
PLACES = ("inbox", "folder", "trash", "Folders/*", "Folders/Taxes", "Folders/Taxes/*", "INBOX")


def agent(name: str = "hermes", accounts: frozenset[str] | None = None) -> Caller:
    return Caller(name, Audience.AGENT, Surface.TOOL, accounts)


def assistant(*rules: Rule, preset: Preset = Preset.ASSISTANT, fences: tuple[Fence, ...] = ()) -> Policy:
    return Policy(presets=(Choice(preset),), rules=rules, fences=fences, clients=frozenset(CLIENTS))


def one(
    effect: Effect, account: str | None = "personal", mailbox: str | None = "INBOX", role: Role | None = None
) -> Plan:
    return Plan(frozenset({Impact(effect, Scope(account, mailbox, role))}))


def rule(verdict: Verdict, *effects: Effect, place: str | None = None, **scope: object) -> Rule:
    return Rule(verdict, frozenset(effects) or GRANTABLE, place=Place(place) if place else None, **scope)  # type: ignore[arg-type]  # the tests' own shorthand


scopes = st.builds(
    lambda account, box: Scope(account, *box),
    st.sampled_from(ACCOUNTS),
    st.sampled_from((*MAILBOXES, (None, None))),
)
impacts = st.builds(Impact, st.sampled_from(list(Effect)), scopes)
plans = st.builds(
    lambda found, recipients: Plan(frozenset(found), recipients=tuple(recipients)),
    st.sets(impacts, min_size=1, max_size=4),
    st.lists(st.sampled_from(("anna@example.org", "bo@evil.test", "c@sub.example.org")), max_size=2),
)
callers = st.sampled_from([agent(name) for name in CLIENTS])
verdicts = st.sampled_from(list(Verdict))
rules = st.builds(
    lambda verdict, effects, client, account, place, until: Rule(
        verdict, effects, client, account, Place(place) if place else None, until
    ),
    verdicts,
    st.one_of(st.just(GRANTABLE), st.frozensets(st.sampled_from(sorted(GRANTABLE)), min_size=1, max_size=3)),
    st.sampled_from((None, *CLIENTS)),
    st.sampled_from((None, *ACCOUNTS)),
    st.sampled_from((None, *PLACES)),
    st.sampled_from((None, NOW - timedelta(hours=1), NOW + timedelta(hours=1))),
)
fences = st.builds(
    lambda client, account, accounts, mailboxes, recipients, rates: Fence(
        "the test", client, account, accounts, mailboxes, recipients, rates=rates
    ),
    st.sampled_from((None, *CLIENTS)),
    st.sampled_from((None, *ACCOUNTS)),
    st.one_of(st.none(), st.frozensets(st.sampled_from(ACCOUNTS))),
    st.one_of(st.none(), st.lists(st.sampled_from(PLACES), max_size=2).map(lambda texts: tuple(map(Place, texts)))),
    st.one_of(st.none(), st.frozensets(st.sampled_from(("anna@example.org", "@example.org", "@*.example.org")))),
    st.lists(st.builds(Rate, st.sampled_from(sorted(GRANTABLE)), st.integers(0, 2), st.just(3600)), max_size=1).map(
        tuple
    ),
)
choices = st.builds(
    Choice, st.sampled_from(list(Preset)), st.sampled_from((None, *CLIENTS)), st.sampled_from((None, *ACCOUNTS))
)
policies = st.builds(
    lambda presets, found, drawn: Policy(
        presets=tuple(presets), rules=tuple(found), fences=tuple(drawn), clients=frozenset(CLIENTS)
    ),
    st.lists(choices, max_size=3),
    st.lists(rules, max_size=6),
    st.lists(fences, max_size=2),
)
