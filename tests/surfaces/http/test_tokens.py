"""Client tokens over HTTP: who is let in, who is not, and that what the owner takes away is gone at once."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from .speaking import Raw

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

    from .process import Service

pytestmark = pytest.mark.process


def made(owner: Owner, client: str = "hermes", *words: str) -> str:
    return owner.json("clients", "rotate", client, *words)["token"]


def status(raw: Raw) -> str:
    """What a call says: the word of the answer, or the HTTP status where it did not get so far."""
    answered = raw.call("messages_list", limit=1)
    if answered.status_code != 200:
        return str(answered.status_code)
    return answered.text.partition('"structuredContent":{"status":"')[2].partition('"')[0]


@pytest.mark.parametrize("header", [None, "Basic bWU6bWU=", "mcpp_x", ""])
def test_without_a_token_it_says_how_to_show_one(demo: Service, header: str | None) -> None:
    """J-87: no error is named where no token was shown."""
    with Raw(demo.url) as raw:
        more = {} if header is None else {"Authorization": header}
        answered = raw.http.post(demo.url, json={}, headers=more)
    assert answered.status_code == 401
    assert answered.headers["www-authenticate"] == 'Bearer realm="mcp-proton"'


@pytest.mark.parametrize("kind", ["nobodys", "cut", "other secret", "padded", "upper"])
def test_a_token_that_is_nobodys_is_told_to_be_invalid(demo: Service, kind: str) -> None:
    """J-87: and the answer quotes nothing of it."""
    good = demo.demo_token
    shown = {
        "nobodys": f"mcpp_{'a' * 10}_{'b' * 50}",
        "cut": good[:-1],
        "other secret": good[:-1] + ("a" if good[-1] != "a" else "b"),
        "padded": good + "a",
        "upper": good.upper(),
    }[kind]
    with Raw(demo.url, shown) as raw:
        answered = raw.shake()
    assert answered.status_code == 401
    assert 'error="invalid_token"' in answered.headers["www-authenticate"]
    assert shown not in answered.text + str(answered.headers)


def test_two_authorizations_are_none(demo: Service) -> None:
    with Raw(demo.url) as raw:
        headers = [("Authorization", f"Bearer {demo.demo_token}"), ("Authorization", f"Bearer {demo.demo_token}")]
        answered = raw.http.post(demo.url, json={}, headers=[*raw.http.headers.items(), *headers])
    assert answered.status_code == 401


def test_a_token_in_the_address_opens_nothing(demo: Service) -> None:
    with Raw(demo.url) as raw:
        assert raw.http.post(f"{demo.url}?access_token={demo.demo_token}", json={}).status_code == 401


def test_what_is_revoked_replaced_or_removed_is_out_in_the_middle_of_a_session(owner: Owner, serving: Service) -> None:
    """P-97, P-41: nothing about the session or the operations in it helps."""
    for take_away in (("rotate",), ("revoke",), ("remove", "--yes")):
        with Raw(serving.url, made(owner)) as raw:
            raw.shake()
            assert raw.post("tools/list").status_code == 200
            assert owner.run("clients", take_away[0], "hermes", *take_away[1:]).code == 0
            answered = raw.post("tools/list")
            assert answered.status_code == 401, take_away
            assert 'error="invalid_token"' in answered.headers["www-authenticate"]
            assert raw.http.delete(raw.url, headers={"Mcp-Session-Id": raw.session}).status_code == 401
        if take_away == ("revoke",):
            assert owner.run("clients", "restore", "hermes").code == 0


def test_an_open_stream_ends_when_its_client_is_revoked(owner: Owner, serving: Service) -> None:
    """P-97."""
    with Raw(serving.url, made(owner)) as raw:
        raw.shake()
        headers = {"Mcp-Session-Id": raw.session, "MCP-Protocol-Version": "2025-11-25"}
        with raw.http.stream("GET", raw.url, headers=headers) as stream:
            assert stream.status_code == 200
            owner.run("clients", "revoke", "hermes")
            assert all(not line.startswith("data: {") for line in stream.iter_lines())  # ends, else it would wait here


def test_a_paused_client_is_told_so_and_goes_on_when_it_is_resumed(owner: Owner, serving: Service) -> None:
    """P-97: a pause is an ordinary answer."""
    with Raw(serving.url, made(owner)) as raw:
        assert status(raw) == "ok"
        owner.run("clients", "pause", "hermes")
        assert status(raw) == "refused"
        owner.run("clients", "resume", "hermes")
        assert status(raw) == "ok"


def test_a_session_of_one_client_is_none_of_anothers(owner: Owner, serving: Service) -> None:
    """P-41: a session id carries no authority; to others it is one that does not exist."""
    other = owner.json("clients", "add", "other", "--token")["token"]
    with Raw(serving.url, made(owner)) as mine, Raw(serving.url, other) as theirs:
        mine.shake()
        theirs.shake()
        unknown = theirs.post("tools/list", session="0" * 32)
        taken = theirs.post("tools/list", session=mine.session)
        assert (taken.status_code, taken.text) == (unknown.status_code, unknown.text) == (404, unknown.text)
        assert theirs.http.delete(theirs.url, headers={"Mcp-Session-Id": mine.session}).status_code == 404
        headers = {"Mcp-Session-Id": mine.session, "MCP-Protocol-Version": "2025-11-25"}
        assert theirs.http.get(theirs.url, headers=headers).status_code == 404
        assert mine.post("tools/list").status_code == 200


def test_an_operation_of_one_client_is_none_of_anothers(owner: Owner, serving: Service) -> None:
    """P-41: an operation id carries no authority."""
    owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "organize"\nverdict = "ask"\n')
    other = owner.json("clients", "add", "other", "--token")["token"]
    with Raw(serving.url, made(owner)) as mine, Raw(serving.url, other) as theirs:
        listed = mine.call("messages_list", limit=1).text
        handle = listed.partition('"handle":"')[2].partition('"')[0]
        waiting = mine.call("messages_flag", messages=[handle], add=["flagged"]).text
        assert '"approval_pending"' in waiting
        operation = waiting.partition('"operation_id":"')[2].partition('"')[0]
        assert '"not_found"' in theirs.call("operations_resume", operation_id=operation).text
        assert '"approval_pending"' in mine.call("operations_resume", operation_id=operation).text


def test_the_store_holds_no_token_and_the_lists_no_secret(owner: Owner, serving: Service) -> None:
    token = made(owner, "hermes", "--days", "2")
    secret = token.rpartition("_")[2]
    rows = owner.json("clients", "list")["clients"]
    assert rows[0]["token"] == token.rpartition("_")[0]
    assert rows[0]["expires_at"]
    with sqlite3.connect(owner.folders.database) as store:
        kept = "\n".join(store.iterdump())
    store.close()
    assert token.split("_")[1] in kept
    assert secret not in kept
    with Raw(serving.url, token) as raw:
        assert status(raw) == "ok"
    assert secret not in serving.output


def test_an_edit_that_breaks_the_configuration_takes_nobodys_access_away(owner: Owner, serving: Service) -> None:
    with Raw(serving.url, made(owner)) as raw:
        assert status(raw) == "ok"
        good = owner.folders.config_file.read_text()
        owner.write_config(good + "\n[nonsense\n")
        assert status(raw) == "ok"
        owner.write_config(good)
        assert status(raw) == "ok"
