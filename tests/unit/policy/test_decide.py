"""What the owner would expect, case by case."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.limits import Granted, Limit, Switches
from mcp_proton.domain.mail import Role
from mcp_proton.domain.plan import Impact, Plan, Scope
from mcp_proton.policy.boundaries import Fence, Rate, reaches
from mcp_proton.policy.breaches import MailboxOutside, NoFolder, PathOutside, RecipientOutside, TooMany, UsedUp
from mcp_proton.policy.decide import decide, limits
from mcp_proton.policy.index import RuleIndex
from mcp_proton.policy.presets import TABLE, Choice, Preset, verdict
from mcp_proton.policy.rules import Place, Verdict

from .worlds import NOW, agent, assistant, one, rule

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY


def says(policy, plan, caller=None, usage=None, now=NOW):
    return decide(policy, caller or agent(), plan, usage or {}, now)


@pytest.mark.parametrize(
    ("preset", "reading", "organizing", "sending", "deleting", "files"),
    [
        (Preset.READER, ALLOW, DENY, DENY, DENY, DENY),
        (Preset.ASSISTANT, ALLOW, ALLOW, ASK, ASK, ASK),
        (Preset.AUTONOMOUS, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
        (Preset.CUSTOM, ALLOW, ALLOW, ASK, ASK, ASK),
    ],
)
def test_the_presets_say_what_the_owner_was_told(preset, reading, organizing, sending, deleting, files):
    """P-10, P-11, P-12."""
    expected = {
        Effect.LIST: reading,
        Effect.READ: reading,
        Effect.ORGANIZE: organizing,
        Effect.DRAFT: organizing,
        Effect.SEND: sending,
        Effect.DESTROY: deleting,
        Effect.DELETE_FOLDER: files,
        Effect.DELETE_LABEL: files,
        Effect.INGEST: files,
        Effect.FETCH: files,
        Effect.EXPORT: files,
        Effect.IMPORT: files,
        Effect.AUTOMATE: files,
    }
    assert {effect: verdict(preset, effect, {}) for effect in TABLE} == expected
    assert {effect: says(assistant(preset=preset), one(effect)).verdict for effect in TABLE} == expected


def test_every_effect_but_the_owners_own_has_a_row():
    """P-17."""
    assert set(TABLE) == set(Effect) - {Effect.ADMINISTER}


def test_custom_is_the_owners_own_column():
    policy = replace(assistant(preset=Preset.CUSTOM), custom={Effect.SEND: DENY, Effect.ORGANIZE: ASK})
    assert says(policy, one(Effect.SEND)).verdict is DENY
    assert says(policy, one(Effect.ORGANIZE)).verdict is ASK
    assert says(policy, one(Effect.READ)).verdict is ALLOW


@pytest.mark.parametrize(
    ("milder", "expected"),
    [
        (rule(ALLOW, Effect.READ), DENY),
        (rule(ALLOW, Effect.READ, client="hermes"), DENY),
        (rule(ALLOW, Effect.READ, place="folder"), DENY),
        (rule(ALLOW, Effect.READ, place="Folders/*"), DENY),
        (rule(ALLOW, Effect.READ, place="Folders/Taxes/*"), ALLOW),
        (rule(ALLOW, Effect.READ, place="Folders/Taxes/2026"), ALLOW),
        (rule(ALLOW, place="Folders/Taxes/2026"), DENY),
        (rule(ALLOW, Effect.READ, place="Folders/Taxes/2026", account="personal"), ALLOW),
        (rule(ALLOW, Effect.READ, place="Folders/*", client="hermes"), ALLOW),
    ],
)
def test_only_a_rule_that_is_more_specific_in_nothing_less_beats_a_deny(milder, expected):
    """P-14."""
    policy = assistant(rule(DENY, Effect.READ, place="Folders/*"), milder)
    plan = one(Effect.READ, mailbox="Folders/Taxes/2026", role=Role.FOLDER)
    assert says(policy, plan).verdict is expected


def test_settings_differ_by_client_account_and_mailbox():
    """P-13."""
    policy = assistant(
        rule(DENY, Effect.ORGANIZE, client="goose"),
        rule(ASK, Effect.ORGANIZE, account="work"),
        rule(DENY, Effect.READ, place="Folders/Taxes"),
    )
    assert says(policy, one(Effect.ORGANIZE), agent("goose")).verdict is DENY
    assert says(policy, one(Effect.ORGANIZE), agent("hermes")).verdict is ALLOW
    assert says(policy, one(Effect.ORGANIZE, account="work"), agent("hermes")).verdict is ASK
    assert says(policy, one(Effect.READ, mailbox="Folders/Taxes")).verdict is DENY
    assert says(policy, one(Effect.LIST, mailbox="Folders/Taxes")).verdict is ALLOW


def test_a_client_made_a_reader_stays_one_when_a_general_rule_is_milder():
    policy = replace(
        assistant(rule(ALLOW, Effect.SEND)),
        presets=(Choice(Preset.ASSISTANT), Choice(Preset.READER, client="hermes")),
    )
    assert says(policy, one(Effect.SEND), agent("hermes")).verdict is DENY
    assert says(policy, one(Effect.SEND), agent("goose")).verdict is ALLOW
    own = replace(policy, rules=(rule(ASK, Effect.SEND, client="hermes"),))
    assert says(own, one(Effect.SEND), agent("hermes")).verdict is ASK


def test_a_preset_for_one_account_holds_there_only():
    policy = replace(assistant(), presets=(Choice(Preset.AUTONOMOUS), Choice(Preset.READER, account="work")))
    assert says(policy, one(Effect.SEND, account="work")).verdict is DENY
    assert says(policy, one(Effect.SEND, account="personal")).verdict is ALLOW


def test_every_source_and_destination_must_pass():
    """P-16."""
    policy = assistant(rule(DENY, Effect.ORGANIZE, place="Folders/Taxes"), rule(ASK, Effect.ORGANIZE, place="trash"))
    inbox, taxes, trash = (
        Impact(Effect.ORGANIZE, Scope("personal", path, role))
        for path, role in (("INBOX", Role.INBOX), ("Folders/Taxes", Role.FOLDER), ("Trash", Role.TRASH))
    )
    assert says(policy, Plan(frozenset({inbox}))).verdict is ALLOW
    assert says(policy, Plan(frozenset({inbox, trash}))).verdict is ASK
    decision = says(policy, Plan(frozenset({inbox, trash, taxes})))
    assert decision.verdict is DENY
    assert decision.why == "organizing in `Folders/Taxes` of `personal` is denied for client `hermes` (rule)"


def test_a_grant_beats_the_standing_rule_of_the_same_scope_while_it_lasts():
    """P-18: temporary grants."""
    policy = assistant(rule(ASK, Effect.SEND, client="hermes")).with_switches(
        Switches(granted=(Granted("g_1", frozenset({Effect.SEND}), "allow", NOW + timedelta(hours=1), "hermes"),))
    )
    decision = says(policy, one(Effect.SEND))
    assert decision.verdict is ALLOW
    assert "grant g_1" in str(decision.reasons[0])
    assert says(policy, one(Effect.SEND), now=NOW + timedelta(hours=1)).verdict is ASK


def test_a_client_nobody_knows_may_do_nothing():
    decision = says(assistant(), one(Effect.LIST), agent("stranger"))
    assert decision.verdict is DENY
    assert decision.refusal().code == "policy_denied"
    assert says(assistant(), Plan(), agent("stranger")).verdict is DENY


def test_pausing_and_revoking_hold_at_once_and_say_so():
    """P-38, P-97."""
    base = assistant(preset=Preset.AUTONOMOUS)
    paused = base.with_switches(Switches(paused_clients=frozenset({"hermes"})))
    revoked = base.with_switches(Switches(revoked_clients=frozenset({"hermes"})))
    account = base.with_switches(Switches(paused_accounts=frozenset({"personal"})))
    assert says(paused, one(Effect.LIST)).refusal().code == "paused"
    assert says(paused, one(Effect.LIST), agent("goose")).verdict is ALLOW
    assert says(revoked, one(Effect.LIST)).refusal().code == "policy_denied"
    assert "revoked" in says(revoked, one(Effect.LIST)).why
    assert says(account, one(Effect.LIST)).refusal().code == "paused"
    assert says(account, one(Effect.LIST, account="work")).verdict is ALLOW


def test_a_plan_without_effects_needs_a_caller_in_good_standing_only():
    assert says(replace(assistant(), presets=()), Plan()).verdict is ALLOW


def test_a_client_sees_only_the_accounts_it_was_given():
    decision = says(assistant(), one(Effect.LIST, account="work"), agent(accounts=frozenset({"personal"})))
    assert decision.verdict is DENY
    assert decision.refusal().code == "out_of_bounds"


def test_the_owner_is_asked_before_what_cannot_be_taken_back():
    policy = assistant(preset=Preset.READER)
    assert says(policy, one(Effect.SEND), owner()).verdict is ALLOW
    assert says(policy, one(Effect.ADMINISTER), owner()).verdict is ALLOW
    assert says(policy, one(Effect.DESTROY), owner()).verdict is ASK
    fenced = assistant(fences=(Fence("the owner's line", accounts=frozenset({"work"})),))
    assert says(fenced, one(Effect.LIST), owner()).verdict is DENY


def test_a_fence_for_mailboxes_stops_a_plan_that_names_none():
    policy = assistant(fences=(Fence("boundaries", mailboxes=(Place("inbox"), Place("Folders/*"))),))
    assert says(policy, one(Effect.READ, mailbox="INBOX", role=Role.INBOX)).verdict is ALLOW
    assert says(policy, one(Effect.READ, mailbox="Folders/Taxes", role=Role.FOLDER)).verdict is ALLOW
    assert isinstance(says(policy, one(Effect.READ, mailbox="Trash", role=Role.TRASH)).breaches[0], MailboxOutside)
    assert isinstance(says(policy, one(Effect.READ, mailbox=None)).breaches[0], MailboxOutside)
    assert says(policy, one(Effect.LIST, mailbox=None)).verdict is ALLOW


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("anna@example.org", True),
        ("ANNA@Example.ORG", True),
        ("bo@example.org", False),
        ("bo@example.com", True),
        ("bo@sub.example.com", False),
        ("bo@sub.example.net", True),
        ("bo@deep.sub.example.net", True),
        ("bo@example.net", False),
        ("bo@evilexample.com", False),
        ("bo@example.com.evil.test", False),
        ("bo@bücher.example", True),
        ("bo@xn--bcher-kva.example", True),
        ("anna@example.org, eve@evil.test", False),
        ("eve@evil.test <anna@example.org>", False),
        ('"anna@example.org"@evil.test', False),
        ("eve@evil.test@example.com", False),
        ("eve%evil.test@example.com", True),
        ("", False),
        ("@example.com", False),
        ("anna@example.org\r\nBcc: eve@evil.test", False),
    ],
)
def test_a_recipient_is_allowed_only_when_it_is_plainly_one_of_those_named(address, allowed):
    """P-18."""
    named = frozenset({"anna@example.org", "@example.com", "@*.example.net", "@xn--bcher-kva.example"})
    assert reaches(named, address) is allowed
    policy = assistant(preset=Preset.AUTONOMOUS, fences=(Fence("boundaries", recipients=named),))
    plan = replace(one(Effect.SEND, mailbox=None), recipients=(address,))
    assert any(isinstance(found, RecipientOutside) for found in says(policy, plan).breaches) is not allowed


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/Mail/a.pdf", None),
        ("/home/me/Mail/../.ssh/id", PathOutside),
        ("/home/me/Mailbox/a.pdf", PathOutside),
        ("Mail/a.pdf", PathOutside),
        ("/etc/passwd", PathOutside),
    ],
)
def test_a_file_lies_in_a_named_folder_or_nowhere(path, kind):
    """P-18, P-95."""
    fence = Fence("boundaries", folders={Effect.EXPORT: (Path("/home/me/Mail"),)})
    plan = replace(one(Effect.EXPORT), paths=(Path(path),))
    breaches = says(assistant(preset=Preset.AUTONOMOUS, fences=(fence,)), plan).breaches
    assert [type(found) for found in breaches] == ([kind] if kind else [])


def test_local_files_are_shut_until_the_owner_opens_a_folder_for_that_effect():
    plan = replace(one(Effect.INGEST), paths=(Path("/home/me/Mail/a.pdf"),))
    fence = Fence("boundaries", folders={Effect.EXPORT: (Path("/home/me/Mail"),)})
    decision = says(assistant(preset=Preset.AUTONOMOUS, fences=(fence,)), plan)
    assert [type(found) for found in decision.breaches] == [NoFolder]
    assert "attach_directories" in decision.why


def test_a_batch_may_not_be_larger_than_the_owner_allows():
    targets = tuple(Handle("personal", "aaaaaa", str(number)) for number in range(11))
    plan = replace(one(Effect.ORGANIZE), targets=targets)
    fence = Fence("boundaries", max_batch=10)
    assert isinstance(says(assistant(fences=(fence,)), plan).breaches[0], TooMany)
    assert not says(assistant(fences=(fence,)), replace(plan, targets=targets[:10])).breaches


def test_rates_are_counted_against_what_was_used():
    """P-18: send limits; none is hidden in Autonomous."""
    fence = Fence("boundaries", client="hermes", rates=(Rate(Effect.SEND, 2, 3600),))
    policy, plan = assistant(preset=Preset.AUTONOMOUS, fences=(fence,)), one(Effect.SEND, mailbox=None)
    limit = Limit(Effect.SEND, 2, 3600, "hermes", None, "boundaries")
    assert limits(policy, agent(), plan) == (limit,)
    assert limits(policy, agent("goose"), plan) == ()
    assert says(policy, plan, usage={limit: 1}).verdict is ALLOW
    decision = says(policy, plan, usage={limit: 2})
    assert isinstance(decision.breaches[0], UsedUp)
    assert decision.refusal().code == "over_limit"
    assert decision.why == "sending: 2 of 2 per hour used, 1 more asked (`rates` of boundaries)"
    assert says(assistant(preset=Preset.AUTONOMOUS), plan, usage={limit: 10**6}).verdict is ALLOW


def test_a_decision_looks_at_the_few_rules_that_can_matter_however_many_there_are():
    scope = Scope("work", "Folders/7", Role.FOLDER)
    paths = [rule(ASK, Effect.READ, place=f"Folders/{n}", account="work") for n in range(500)]
    near = RuleIndex((*Choice(Preset.ASSISTANT).rules({}), *paths)).near("hermes", Effect.READ, scope)
    assert [str(one.place and one.place.text) for one in near] == ["None", "Folders/7"]


@pytest.mark.parametrize("role", [Role.ALL, Role.STARRED, Role.LABEL])
@pytest.mark.parametrize("effect", [Effect.LIST, Effect.READ])
def test_a_view_shows_nothing_that_is_closed_where_it_lies(role, effect):
    """A mail in a closed folder is closed in All Mail, Starred and every label too, unless the owner spoke of the view."""
    view = Plan(impacts=frozenset({Impact(effect, Scope("personal", "Some View", role))}))
    closed = assistant(rule(DENY, effect, place="Folders/Health"))
    assert says(assistant(), view).verdict is ALLOW
    assert says(closed, view).verdict is DENY
    spoken = assistant(rule(DENY, effect, place="Folders/Health"), rule(ALLOW, effect, place="Some View"))
    assert says(spoken, view).verdict is ALLOW


def test_a_closed_trash_closes_all_mail_but_an_open_folder_opens_nothing():
    view = Plan(impacts=frozenset({Impact(Effect.READ, Scope("personal", "All Mail", Role.ALL))}))
    assert says(assistant(rule(ASK, Effect.READ, place="trash")), view).verdict is ASK
    reader = assistant(rule(ALLOW, Effect.ORGANIZE, place="Folders/Open"), preset=Preset.READER)
    organize = Plan(impacts=frozenset({Impact(Effect.ORGANIZE, Scope("personal", "All Mail", Role.ALL))}))
    assert says(reader, organize).verdict is DENY
