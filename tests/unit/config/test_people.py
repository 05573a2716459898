"""`[people]`: a line makes a person an account and a client of their own, and nobody else's (J-80)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.config import editing
from mcp_proton.config.reading import read
from mcp_proton.config.values import Profile
from mcp_proton.domain.complaint import Misconfigured

if TYPE_CHECKING:
    from pathlib import Path

OAUTH = """
[oauth]
issuer = "https://id.example.org"
jwks_url = "https://id.example.org/jwks"
"""
GOOD = f"""
[accounts.shared]
kind = "jmap"
url = "https://mail.example.org"
username = "shared@example.org"
secret = "env:SHARED"

[clients.hermes]
accounts = ["shared"]

[clients.bob]
profile = "reader"
accounts = ["shared"]

[people]
url = "https://mail.example.org"
profile = "full"
sending = false

[people.subjects]
anna = "sub-anna"
bob = "sub-bob"
{OAUTH}"""


def test_a_line_is_an_account_and_a_client_of_one_person() -> None:
    """J-80: as two tables a person would be; what is said of one client holds for that one."""
    config = read(GOOD, "config.toml", {})
    assert list(config.accounts) == ["shared", "anna", "bob"]
    anna = config.accounts["anna"]
    assert (anna.of_caller, anna.url, anna.sending) == (True, "https://mail.example.org", False)
    assert config.clients["anna"].accounts == ["anna"]
    assert config.clients["anna"].profile is Profile.FULL
    assert config.clients["bob"].profile is Profile.READER
    assert config.clients["bob"].accounts == ["bob", "shared"]
    assert [config.client_of(one) for one in ("sub-anna", "sub-bob", "sub-eve")] == ["anna", "bob", None]
    assert [config.client_with(one) for one in ("anna", "bob", "shared")] == ["anna", "bob", None]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('bob = "sub-bob"', 'bob = "sub-anna"', "a subject can be one client only"),
        ('bob = "sub-bob"', 'shared = "sub-bob"', "`shared` is one of `people` and an account of its own"),
        ('bob = "sub-bob"', 'Bob = "sub-bob"', "short name"),
        ('bob = "sub-bob"', 'owner = "sub-bob"', "owner"),
        ('bob = "sub-bob"', 'bob = ""', "people"),
        ('bob = "sub-bob"', 'bob = ["sub-bob", "sub-eve"]', "people"),
        ('profile = "reader"', 'subjects = ["sub-eve"]', "leave out the client's `subjects`"),
        ('[clients.hermes]\naccounts = ["shared"]', '[clients.hermes]\naccounts = ["anna"]', "for one client"),
        ('[clients.hermes]\naccounts = ["shared"]', "[clients.hermes]", "must name its `accounts`"),
        ('[clients.bob]\nprofile = "reader"\naccounts = ["shared"]', "[clients]\nbob = 7", "clients.bob"),
        ('[people]\nurl = "https://mail.example.org"', '[people]\nurl = "http://mail.example.org"', "https URL"),
        ('[people]\nurl = "https://mail.example.org"', "[people]", "people.url"),
        ("sending = false", "secret = 'env:ONE'", "people"),
        (OAUTH, "", r"needs `\[oauth\]`"),
    ],
)
def test_what_would_let_two_people_into_one_account_is_refused(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(Misconfigured, match=why):
        read(GOOD.replace(old, new), "config.toml", {})


def test_a_person_is_taken_out_by_the_client_s_name(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(GOOD)
    path.chmod(0o600)
    with pytest.raises(Misconfigured, match="clients remove bob"):
        editing.remove_account(path, "bob")
    editing.add_client(path, "anna", {"review": True})
    assert read(path.read_text(), "config.toml", {}).clients["anna"].review
    editing.remove_client(path, "bob")
    editing.remove_client(path, "anna")
    config = read(path.read_text(), "config.toml", {})
    assert (list(config.accounts), list(config.clients)) == (["shared"], ["hermes"])
    with pytest.raises(Misconfigured, match="not there"):
        editing.remove_client(path, "anna")
