"""People are let in by a command, into a configuration that keeps what the owner wrote (J-80)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

OAUTH = """# whose tokens
[oauth]
issuer = "https://id.example.org"
jwks_url = "https://id.example.org/jwks"
"""
URL = ("--url", "https://mail.example.org")


def test_people_are_added_listed_and_taken_out(owner: Owner) -> None:
    owner.write_config(OAUTH)
    assert owner.json("people", "list")["people"] == []
    assert owner.json("people", "add", "anna", "sub-anna", *URL)["person"] == "anna"
    assert owner.run("people", "add", "bob", "sub-bob").code == 0
    assert owner.run("people", "add", "bob", "sub-bob", *URL).code == 0
    listed = owner.json("people", "list")["people"]
    assert listed == [{"person": "anna", "subject": "sub-anna"}, {"person": "bob", "subject": "sub-bob"}]
    assert owner.folders.config_file.read_text().startswith(OAUTH)
    assert [one["client"] for one in owner.json("clients", "list")["clients"]] == ["anna", "bob"]
    assert owner.run("clients", "remove", "anna", "--yes").code == 0
    assert [one["person"] for one in owner.json("people", "list")["people"]] == ["bob"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("add", "carl", "sub-carl", "--url", "https://other.example.org"), "one JMAP server for all"),
        (("add", "anna", "sub-eve"), "is somebody else already"),
        (("add", "eve", "sub-anna"), "a subject can be one client only"),
        (("add", "Eve", "sub-eve"), "short name"),
        (("add", "owner", "sub-eve"), "owner"),
        (("add", "eve", ""), "people.subjects"),
    ],
)
def test_what_would_mix_two_people_up_changes_nothing(owner: Owner, words: tuple[str, ...], why: str) -> None:
    owner.write_config(OAUTH)
    assert owner.run("people", "add", "anna", "sub-anna", *URL).code == 0
    before = owner.folders.config_file.read_text()
    said = owner.run("people", *words)
    assert said.code != 0
    assert why in " ".join(said.err.split())
    assert owner.folders.config_file.read_text() == before


def test_without_a_server_or_a_provider_it_says_what_is_missing(owner: Owner) -> None:
    assert "--url is missing" in owner.run("people", "add", "anna", "sub-anna").err
    assert "`[oauth]`" in owner.run("people", "add", "anna", "sub-anna", *URL).err
    assert not owner.folders.config_file.exists()
