"""What waits in an account of a caller's is decided at the owner's command line, which has no token, and done at the caller's
next call (J-80, P-40, N-6). The people are a line each in the configuration.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import OwnerBeside
from .household import PEOPLE, InThread, asked, living, moved_in, token
from .issuer import Issuer
from .process import Service
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process
CONFIG = """
[people]
url = "{url}"
profile = "full"

[people.subjects]
anna = "sub-anna"
bob = "sub-bob"
"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


household = pytest.fixture(living, scope="module")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer, household: InThread) -> Path:
    place = tmp_path_factory.mktemp("people") / "home"
    moved_in(place, CONFIG.format(url=household.server.url), issuer, 'preset = "assistant"\n')
    return place


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[Service]:
    with Service("--listen", "127.0.0.1:0", home=home) as running:
        yield running


@pytest.fixture
def owner(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Owner:
    monkeypatch.setenv("MCP_PROTON_HOME", str(home))
    return OwnerBeside(home, capsys)


def approved(owner: Owner, operation: str) -> dict[str, Any]:
    file = owner.file("passphrase", "correct horse battery\n")
    assert owner.run("passphrase", "--file", file).code == 0
    return owner.json("approvals", "approve", operation, "--passphrase-file", file)


def discarded(household: InThread, service: Service, name: str, shown: str) -> str:
    """Put a person's letter into their trash; return its handle there."""
    store = household.store(name)
    first = next(iter(store.emails.values()))
    first.mailboxes = {store.by_role("trash").id}
    store.touched()
    return str(asked(service, shown, "messages_list", mailbox="trash")["messages"][0]["handle"])


def lines(owner: Owner, operation: str) -> dict[str, str]:
    return {one["label"]: one["value"] for one in owner.json("approvals", "show", operation)["lines"]}


def test_a_mail_is_shown_and_approved_without_a_token_and_leaves_at_the_caller_s_next_call(
    issuer: Issuer, service: Service, household: InThread, owner: Owner
) -> None:
    anna, bob = token(issuer, "anna"), token(issuer, "bob")
    letter = {"to": ["bob@example.org"], "subject": "Lunch?", "text": "At noon."}
    waiting = asked(service, anna, "mail_send", **letter)
    assert waiting["status"] == "approval_pending", waiting
    operation = waiting["operation_id"]
    before = len(household.server.shown)

    (listed,) = owner.json("approvals", "list")["operations"]
    assert (listed["operation_id"], listed["client"]) == (operation, "anna")
    shown = lines(owner, operation)
    assert "will not be done" in shown["as it was when it was asked"]
    assert {shown[name] for name in ("to", "subject", "text")} == {"bob@example.org", "Lunch?", "At noon."}
    assert shown["from"] == "Anna <anna@example.org>"
    assert approved(owner, operation)["state"] == "approved"
    assert len(household.server.shown) == before, "nobody asked the mail server while the owner decided"
    assert household.store("anna").sent == []

    foreign = asked(service, bob, "operations_resume", operation_id=operation)
    assert foreign["status"] == "not_found"
    assert foreign == asked(service, bob, "operations_resume", operation_id="op_aaaaaaaaaaaaaaaa")
    assert household.store("anna").sent == household.store("bob").sent == []

    later = token(issuer, "anna", jti="of another day")
    done = asked(service, later, "operations_resume", operation_id=operation)
    assert done["status"] == "ok", done
    ((sender, recipients, octets),) = household.store("anna").sent
    assert (sender, recipients) == ("anna@example.org", ["bob@example.org"])
    assert b"At noon." in octets
    assert household.server.shown[-1] == later
    assert asked(service, anna, "operations_resume", operation_id=operation)["state"] == "succeeded"
    assert len(household.store("anna").sent) == 1
    assert household.store("bob").sent == []
    assert "operations" not in owner.json("approvals", "list")


def test_which_messages_they_are_is_shown_as_it_was_and_gone_once_it_is_settled(
    issuer: Issuer, service: Service, household: InThread, owner: Owner
) -> None:
    """N-6; what was kept to be shown is content, and goes with the request."""
    shown = token(issuer, "anna")
    handle = discarded(household, service, "anna", shown)
    before = list(household.store("anna").emails)
    operation = asked(service, shown, "messages_destroy", messages=[handle])["operation_id"]
    told = lines(owner, operation)
    assert told["message"] == handle
    assert "for anna alone" in told["which is"]
    database = owner.folders.database
    assert b"for anna alone" in kept(database)

    assert owner.json("approvals", "deny", operation)["state"] == "denied"
    assert asked(service, shown, "operations_resume", operation_id=operation)["state"] == "denied"
    assert list(household.store("anna").emails) == before
    assert b"for anna alone" not in kept(database)


def kept(database: Path) -> bytes:
    """Return what the store holds of waiting requests."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return repr(connection.execute("SELECT body, shown FROM payloads").fetchall()).encode()
    finally:
        connection.close()


def test_what_has_changed_since_it_was_shown_is_not_done(
    issuer: Issuer, service: Service, household: InThread, owner: Owner
) -> None:
    """P-35, P-37: the person took the message out of the trash, in another program, after the owner had said yes."""
    shown = token(issuer, "bob")
    handle = discarded(household, service, "bob", shown)
    store = household.store("bob")
    before = list(store.emails)
    operation = asked(service, shown, "messages_destroy", messages=[handle])["operation_id"]
    assert approved(owner, operation)["state"] == "approved"
    next(iter(store.emails.values())).mailboxes = {store.by_role("inbox").id}
    store.touched()
    told = asked(service, shown, "operations_resume", operation_id=operation)
    assert (told["status"], told["code"]) == ("stale", "stale_handle"), told
    assert list(store.emails) == before


def test_a_person_is_let_in_and_taken_out_while_the_service_runs(
    issuer: Issuer, service: Service, household: InThread, owner: Owner
) -> None:
    """Nobody else's session ends for it; `/ready` counts no account of a caller's."""
    carl = token(issuer, "carl")
    assert asked_as_stranger(service, carl) == 401
    assert owner.run("people", "add", "carl", "sub-carl").code == 0
    assert [one["account"] for one in asked(service, carl, "accounts_list")["accounts"]] == ["carl"]
    assert [one["subject"] for one in asked(service, carl, "messages_list")["messages"]] == ["for carl alone"]
    assert household.server.shown[-1] == carl
    assert asked(service, carl, "messages_list", account="bob")["status"] == "not_found"
    assert asked(service, token(issuer, "bob"), "messages_list", account="carl")["status"] == "not_found"
    with Raw(service.url.replace("/mcp", "/ready")) as raw:
        assert raw.http.get(raw.url).json() == {"ready": True, "storage": "ok", "accounts": 0, "reachable": 0}
    assert owner.run("clients", "remove", "carl", "--yes").code == 0
    assert asked_as_stranger(service, carl) == 401


def asked_as_stranger(service: Service, shown: str) -> int:
    with Raw(service.url, shown) as raw:
        return raw.call("messages_list").status_code


def test_a_person_is_a_client_and_an_account_like_any_other(owner: Owner) -> None:
    """They are listed, have rules of their own, are paused at once, and taken out by one command."""
    assert [one["client"] for one in owner.json("clients", "list")["clients"]] == list(PEOPLE)
    assert [one["account"] for one in owner.json("accounts", "list")["accounts"]] == list(PEOPLE)
    assert owner.run("config", "check").code == 0
    assert owner.run("clients", "pause", "anna").code == 0
    assert owner.run("clients", "remove", "bob", "--yes").code == 0
    assert [one["client"] for one in owner.json("clients", "list")["clients"]] == ["anna"]
    assert [one["account"] for one in owner.json("accounts", "list")["accounts"]] == ["anna"]
