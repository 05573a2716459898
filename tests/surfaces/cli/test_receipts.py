"""The owner sends, sees what left, and checks a message against it without a server (N-6, A-40, P-40)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.cli.lab import Bridge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner


@pytest.fixture(scope="module")
def post_office() -> Iterator[Bridge]:
    """A Bridge that mail is sent through."""
    with Bridge() as running:
        yield running


@pytest.fixture
def sent(owner: Owner, post_office: Bridge) -> dict[str, Any]:
    """What the owner's own command said."""
    owner.connect(post_office)
    words = (
        "--to",
        "Anna <anna@example.org>",
        "--bcc",
        "boss@example.org",
        "--subject",
        "Lunch",
        "--text",
        str(owner.home),
    )
    told = owner.json("do", "mail_send", *words)
    assert told["status"] == "ok", told
    return told


def test_the_receipt_names_envelope_and_digests_and_fits_itself(owner: Owner, sent: dict[str, Any]) -> None:
    shown = owner.json("receipts", "show", sent["operation_id"])
    assert shown["recipients"] == ["anna@example.org", "boss@example.org"]
    assert (shown["receipt"], shown["consistent"]) == (sent["receipt"], True)
    assert owner.json("receipts", "check", sent["operation_id"], "--receipt", sent["receipt"])["status"] == "ok"
    other = owner.json("receipts", "check", sent["operation_id"], "--receipt", "0" * 64)
    assert (other["status"], other["code"]) == ("conflict", "receipt_differs")


def test_a_message_is_checked_to_the_octet(owner: Owner, sent: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "other.eml"
    file.write_bytes(b"From: x@y.example\r\n\r\nanother\r\n")
    told = owner.json("receipts", "check", sent["operation_id"], "--message", file)
    assert told["code"] == "receipt_differs"
    assert "not the message that left" in told["why"]
    missing = owner.json("receipts", "check", sent["operation_id"], "--message", tmp_path / "none.eml")
    assert missing["status"] == "not_found"


def test_the_receipt_of_an_operation_that_sent_nothing_says_so(owner: Owner, sent: dict[str, Any]) -> None:
    told = owner.json("receipts", "show", "op_aaaaaaaaaaaaaaaa")
    assert told["status"] == "not_found"


def test_the_owner_needs_nobodys_approval_for_the_owners_own_mail(owner: Owner, sent: dict[str, Any]) -> None:
    """P-19: rules and doubts about recipients are for agents."""
    assert (sent["delivery"], sent["repeat"]) == ("accepted", "no_sign_of_a_repeat")
