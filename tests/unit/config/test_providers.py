"""Providers by name: what is left out is as the provider has it, what is written holds (A-83)."""

from __future__ import annotations

import pytest

from mcp_proton.bootstrap import endpoint, submission
from mcp_proton.config.reading import read
from mcp_proton.config.tables import Account
from mcp_proton.config.values import Kind, Security
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.imap.login.endpoint import TlsMode
from mcp_proton.imap.login.providers import PROVIDERS, Name


def account(name: str, *lines: str) -> Account:
    text = "\n".join(("[accounts.a]", f'provider = "{name}"', 'username = "me"', 'secret = "keyring"', *lines))
    return read(text, "config.toml", {}).accounts["a"]


@pytest.mark.parametrize("name", list(Name))
def test_a_name_is_all_an_account_needs(name: Name) -> None:
    known, found = PROVIDERS[name], account(name.value, 'auth = "bearer"')
    assert found.kind is Kind.IMAP
    reading, sending = endpoint(found), submission(found)
    assert (reading.host, reading.port, reading.tls) == (known.host, 993, TlsMode.IMPLICIT)
    assert (sending.host, sending.port, sending.tls) == (known.smtp_host, known.smtp_port, known.smtp_tls)


def test_the_names_of_the_row_are_all_there() -> None:
    """`custom` is a host of one's own."""
    assert {"spacemail", "gmail", "icloud", "yahoo", "microsoft", "fastmail"} == set(Name)


def test_what_the_owner_writes_holds() -> None:
    found = account(
        "gmail", 'host = "127.0.0.1"', "imap_port = 1143", 'security = "starttls"', 'smtp_host = "smtp.here"'
    )
    assert (found.host, found.imap, found.protection) == ("127.0.0.1", 1143, Security.STARTTLS)
    assert (found.submission_host, found.smtp) == ("smtp.here", 465)


def test_tokens_are_renewed_where_the_provider_does_it() -> None:
    found = account("gmail", "[accounts.a.oauth]", 'client_id = "c"')
    assert (found.token_url, found.by_token) == ("https://oauth2.googleapis.com/token", True)
    own = account("gmail", "[accounts.a.oauth]", 'client_id = "c"', 'token_url = "https://else.where/t"')
    assert own.token_url == "https://else.where/t"


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("microsoft", "", "takes no passwords"),
        ("microsoft", 'auth = "basic"', "takes no passwords"),
        ("icloud", '[accounts.a.oauth]\nclient_id = "c"', "needs token_url"),
        ("gmail", 'kind = "bridge"\ncertificate = "sha256:%s"' % ("0" * 64), "provider is for kind imap"),
        ("hotmail", 'kind = "imap"', "provider"),
    ],
)
def test_what_cannot_be_is_told_with_the_reason(name: str, line: str, why: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        account(name, line)
    assert why in str(refused.value)
