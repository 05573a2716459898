"""`secret = "caller"`: an account that is reached with the token of whoever asks is one person's, or it is refused (J-80)."""

from __future__ import annotations

import pytest

from mcp_proton.bootstrap.callers import MOST, Callers, Secrets, Shown
from mcp_proton.config.reading import read
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.errors import AuthFailed
from mcp_proton.testing import MemoryVault

GOOD = """
[accounts.anna]
kind = "jmap"
url = "https://mail.example.org"
username = "anna@example.org"
secret = "caller"

[accounts.bob]
kind = "jmap"
url = "https://mail.example.org"
username = "bob@example.org"
secret = "caller"

[accounts.shared]
kind = "jmap"
url = "https://mail.example.org"
username = "shared@example.org"
secret = "env:SHARED"

[clients.anna]
accounts = ["anna", "shared"]
subjects = ["sub-anna"]

[clients.bob]
accounts = ["bob", "shared"]
subjects = ["sub-bob"]

[oauth]
issuer = "https://id.example.org"
jwks_url = "https://id.example.org/jwks"
"""


def test_each_subject_has_an_account_of_its_own() -> None:
    config = read(GOOD, "config.toml", {})
    assert [config.client_with(name) for name in ("anna", "bob", "shared", "none")] == ["anna", "bob", None, None]
    assert [config.accounts[name].of_caller for name in ("anna", "shared")] == [True, False]


BAD = [
    ('accounts = ["bob", "shared"]', 'accounts = ["anna", "bob"]', "for one client"),
    ('accounts = ["bob", "shared"]\n', "", "must name its `accounts`"),
    ('subjects = ["sub-bob"]', 'subjects = ["sub-bob", "sub-eve"]', "for one client"),
    ('subjects = ["sub-bob"]', "", "for one client"),
    ('[oauth]\nissuer = "https://id.example.org"\njwks_url = "https://id.example.org/jwks"', "", "needs `\\[oauth\\]`"),
    (
        'kind = "jmap"\nurl = "https://mail.example.org"\nusername = "bob',
        'kind = "imap"\nusername = "bob',
        "for kind jmap",
    ),
    ('username = "bob@example.org"', 'username = "bob@example.org"\nauth = "basic"', "for kind jmap"),
]


@pytest.mark.parametrize(("old", "new", "why"), BAD)
def test_what_would_let_two_people_into_one_account_is_refused(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(Misconfigured, match=why):
        read(GOOD.replace(old, new), "config.toml", {})


async def test_a_caller_s_token_opens_that_caller_s_account_and_no_other() -> None:
    config = read(GOOD, "config.toml", {})
    callers = Callers(lambda: config)
    secrets = Secrets(MemoryVault({"shared": "pw"}), callers, lambda name: config.accounts[name].of_caller)
    callers.showed(Shown("anna", "sub-anna", "token-of-anna"))
    assert await secrets.secret("anna") == "token-of-anna"
    assert await secrets.secret("shared") == "pw"
    with pytest.raises(AuthFailed) as caught:
        await secrets.secret("bob")
    assert caught.value.code == "no_token_shown"
    with pytest.raises(AuthFailed):
        await secrets.keep("anna", "x")
    assert "token-of-anna" not in repr(callers)
    assert "token-of-anna" not in repr(Shown("anna", "sub-anna", "token-of-anna"))


async def test_the_latest_token_counts_and_none_of_a_subject_that_is_not_the_client_any_more() -> None:
    config = read(GOOD, "config.toml", {})
    now = [config]
    callers = Callers(lambda: now[0])
    callers.showed(Shown("anna", "sub-anna", "first"))
    callers.showed(Shown("anna", "sub-anna", "second"))
    assert callers.token("anna") == "second"
    callers.asking = lambda: Shown("anna", "sub-anna", "of this request")
    assert callers.token("anna") == "of this request"
    callers.asking = lambda: Shown("bob", "sub-bob", "of another's request")
    assert callers.token("anna") == "second"
    now[0] = read(GOOD.replace("sub-anna", "sub-annette"), "config.toml", {})
    with pytest.raises(AuthFailed):
        callers.token("anna")


def test_no_more_tokens_are_held_than_a_service_has_callers() -> None:
    callers = Callers(lambda: read(GOOD, "config.toml", {}))
    for number in range(MOST + 10):
        callers.showed(Shown(f"client-{number}", "s", "t"))
    assert repr(callers) == f"Callers({MOST})"
