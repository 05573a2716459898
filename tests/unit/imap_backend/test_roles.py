"""Roles of mailboxes on any IMAP server (P-51)."""

from __future__ import annotations

import itertools

import pytest

from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.handles import mailbox_tag
from mcp_proton.domain.mail import Role
from mcp_proton.imap import roles
from mcp_proton.imap.protocol.responses import ListEntry


def entry(name: str, *attributes: str, delimiter: str | None = "/") -> ListEntry:
    return ListEntry(name, name.encode(), delimiter, frozenset(attributes))


def roles_of(*entries: ListEntry) -> dict[str, Role]:
    return {box.path: box.role for box in roles.mailboxes("me", entries)}


def test_special_use_gives_the_role_whatever_the_name() -> None:
    found = roles_of(entry("INBOX"), entry("Papierkorb", "\\Trash"), entry("Gesendet", "\\Sent"), entry("x", "\\JUNK"))
    assert found == {"INBOX": Role.INBOX, "Papierkorb": Role.TRASH, "Gesendet": Role.SENT, "x": Role.SPAM}


def test_a_well_known_name_counts_where_no_attribute_claims_the_role() -> None:
    assert roles_of(entry("inbox"), entry("Deleted Items"), entry("INBOX/Sent"), entry("Work/Sent")) == {
        "inbox": Role.INBOX,
        "Deleted Items": Role.TRASH,
        "INBOX/Sent": Role.SENT,
        "Work/Sent": Role.FOLDER,
    }


def test_a_role_that_is_unique_goes_to_one_mailbox_only() -> None:
    found = roles_of(entry("Trash"), entry("Bin", "\\Trash"), entry("Deleted Items"))
    assert found == {"Bin": Role.TRASH, "Trash": Role.FOLDER, "Deleted Items": Role.FOLDER}


def test_a_mailbox_that_cannot_hold_mail_is_a_node() -> None:
    (box,) = roles.mailboxes("me", [entry("Lists", "\\NoSelect")])
    assert (box.role, box.selectable) == (Role.NODE, False)


def test_parents_come_first_whatever_order_the_server_chose() -> None:
    entries = [entry("a/b/c"), entry("INBOX"), entry("a"), entry("a/b"), entry("Sent", "\\Sent"), entry("B")]
    for order in itertools.permutations(entries):
        paths = [box.path for box in roles.mailboxes("me", order)]
        assert paths == ["INBOX", "Sent", "a", "a/b", "a/b/c", "B"]


def _colliding() -> tuple[str, str]:
    seen: dict[str, str] = {}
    for number in itertools.count():
        name = f"m{number}"
        if mailbox_tag(name) in seen:
            return seen[mailbox_tag(name)], name
        seen[mailbox_tag(name)] = name
    raise AssertionError


def test_two_mailboxes_with_one_tag_are_refused_by_name() -> None:
    first, second = _colliding()
    with pytest.raises(Conflict) as refusal:
        roles.mailboxes("me", [entry(first), entry(second)])
    assert first in refusal.value.message
    assert second in refusal.value.message
