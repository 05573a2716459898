"""Many users on one service, each by a token of their own that is passed on: nobody sees another's (J-80, J-90)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from .household import PEOPLE, InThread, asked, living, moved_in, token
from .issuer import Issuer
from .process import Service
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.process
CONFIG = """
[accounts.{name}]
kind = "jmap"
url = "{url}"
username = "{name}@example.org"
secret = "caller"

[clients.{name}]
profile = "full"
accounts = ["{name}"]
subjects = ["sub-{name}"]
"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


household = pytest.fixture(living, scope="module")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer, household: InThread) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("many") / "home"
    text = "".join(CONFIG.format(name=name, url=household.server.url) for name in PEOPLE)
    moved_in(home, text, issuer, 'preset = "autonomous"\n')
    with Service("--listen", "127.0.0.1:0", home=home) as running:
        yield running


@pytest.fixture(autouse=True)
def all_let_in(household: InThread) -> None:
    household.server.bad.clear()


def test_each_sees_the_own_account_only_and_the_very_token_is_passed_on(
    issuer: Issuer, service: Service, household: InThread
) -> None:
    for name in PEOPLE:
        shown = token(issuer, name)
        told = asked(service, shown, "messages_list")
        assert [one["subject"] for one in told["messages"]] == [f"for {name} alone"]
        assert [one["account"] for one in asked(service, shown, "accounts_list")["accounts"]] == [name]
        assert household.server.shown[-1] == shown
        (health,) = asked(service, shown, "accounts_health")["accounts"]
        assert health["account"] == name


def test_another_s_handle_cursor_account_and_operation_are_as_if_they_were_not_there(
    issuer: Issuer, service: Service
) -> None:
    """Same status, code and words for what is another's and for what never was."""
    anna, bob = token(issuer, "anna"), token(issuer, "bob")
    handle = asked(service, anna, "messages_list")["messages"][0]["handle"]
    done = asked(service, anna, "messages_flag", messages=[handle], add=["flagged"])
    assert done["status"] == "ok", done
    pairs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("messages_get", {"message": handle}, {"message": f"nobody.{handle.split('.', 1)[1]}"}),
        ("messages_list", {"account": "anna"}, {"account": "nobody"}),
        (
            "operations_status",
            {"operation_id": done["operation_id"]},
            {"operation_id": "op_aaaaaaaaaaaaaaaa"},
        ),
        ("operations_undo", {"operation_id": done["operation_id"]}, {"operation_id": "op_aaaaaaaaaaaaaaaa"}),
    ]
    for tool, theirs, missing in pairs:
        first, second = (asked(service, bob, tool, **one) for one in (theirs, missing))
        assert first["status"] == second["status"] == "not_found"
        assert {key: value for key, value in first.items() if key != "why"}.keys() == second.keys() - {"why"}
        assert str(first.get("why")).replace("anna", "nobody") == str(second.get("why")).replace("anna", "nobody")
    # Both servers give the same ids: under bob's name the same key is bob's own message.
    own = asked(service, bob, "messages_get", message=f"bob.{handle.split('.', 1)[1]}")
    assert "Secret of bob" in str(own)
    assert "anna" not in str(own)
    assert "Secret of anna" not in str(asked(service, bob, "messages_search", query="secret"))


def test_a_token_that_the_mail_server_refuses_is_told_apart_from_one_that_is_over(
    issuer: Issuer, service: Service, household: InThread
) -> None:
    """J-90, J-105: ours is a 401 over HTTP; theirs an ordinary answer that says that a new login does not help."""
    shown = token(issuer, "anna", jti="refused upstream")
    household.server.bad.add("sub-anna")
    told = asked(service, shown, "messages_list")
    assert (told["status"], told["code"]) == ("unavailable", "upstream_auth_rejected")
    household.server.bad.clear()
    told = asked(service, token(issuer, "anna", jti="another"), "messages_list")
    assert told["status"] == "ok", told
    over = token(issuer, "anna", exp=int(time.time()) - 5)
    with Raw(service.url, over) as raw:
        refused = raw.call("messages_list")
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert over not in household.server.shown


def test_no_token_and_no_password_is_stored_and_none_is_in_the_log(
    issuer: Issuer, service: Service, household: InThread
) -> None:
    shown = token(issuer, "anna", jti="look for this")
    asked(service, shown, "messages_list")
    secret = shown.split(".")[2].encode()
    home = service.home
    assert home is not None
    assert not [path for path in home.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert secret.decode() not in service.output


def test_the_service_is_ready_without_a_caller(service: Service) -> None:
    with Raw(service.url.replace("/mcp", "/ready")) as raw:
        answered = raw.http.get(raw.url)
    assert (answered.status_code, answered.json()["ready"]) == (200, True)
