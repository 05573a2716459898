"""Where an answer may be sent: what the owner allowed, to the letter; on this machine with any port."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.redirects import SHIPPED, is_allowed, is_redirect, program, with_answer

ALLOWED = ("https://app.example.org/cb?x=1", "http://127.0.0.1/callback", "http://localhost:3000/a", "cursor://host/cb")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://app.example.org/cb?x=1", True),
        ("https://app.example.org/cb", False),
        ("https://app.example.org/cb?x=1&y=2", False),
        ("https://app.example.org:444/cb?x=1", False),
        ("https://APP.example.org/cb?x=1", False),
        ("https://app.example.org/cb?x=1#f", False),
        ("https://u@app.example.org/cb?x=1", False),
        ("http://app.example.org/cb?x=1", False),
        ("https://app.example.org\\@evil.test/cb?x=1", False),
        ("http://127.0.0.1/callback", True),
        ("http://127.0.0.1:1/callback", True),
        ("http://127.0.0.1:65535/callback", True),
        ("http://127.0.0.1:65536/callback", False),
        ("http://127.0.0.1:0/callback", False),
        ("http://127.0.0.1:x/callback", False),
        ("http://127.0.0.1:80@evil.test/callback", False),
        ("http://127.0.0.1:1/callback?x=1", False),
        ("http://127.0.0.1:1/callback/", False),
        ("http://127.0.0.1:1/../callback", False),
        ("http://127.0.0.2:1/callback", False),
        ("http://localhost:1/callback", False),
        ("http://[::1]:1/callback", False),
        ("https://127.0.0.1:1/callback", False),
        ("http://localhost:9/a", True),
        ("cursor://host/cb", True),
        ("cursor://host/cb2", False),
        ("cursor://host:1/cb", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("", False),
        (" https://app.example.org/cb?x=1", False),
        ("https://app.example.org/cb?x=1\r\nSet-Cookie: x", False),
        ("//app.example.org/cb?x=1", False),
        ("https:app.example.org/cb?x=1", False),
    ],
)
def test_an_address_is_allowed_to_the_letter(address, expected):
    """J-86."""
    assert is_allowed(address, ALLOWED) is expected


def test_an_empty_list_allows_nothing():
    """J-86: it fails closed."""
    assert not any(is_allowed(one, []) for one in (*SHIPPED, *ALLOWED))


def test_what_is_shipped_is_claude_and_this_machine():
    """J-93, A-34: Claude's own addresses are exact."""
    assert is_allowed("https://claude.ai/api/mcp/auth_callback", SHIPPED)
    assert is_allowed("https://claude.com/api/mcp/auth_callback", SHIPPED)
    assert is_allowed("http://localhost:52814/callback", SHIPPED)
    assert not is_allowed("https://claude.ai/api/mcp/auth_callback/", SHIPPED)
    assert not is_allowed("https://evil.claude.ai/api/mcp/auth_callback", SHIPPED)
    assert all(is_redirect(one) for one in SHIPPED)


@given(st.text(max_size=60))
def test_any_text_is_read_without_a_fault_and_never_as_more_than_it_is(address):
    if is_allowed(address, ALLOWED):
        assert address in ALLOWED or address.startswith(("http://127.0.0.1", "http://localhost"))


def test_a_person_is_shown_where_an_answer_goes():
    assert [program(one) for one in ("https://claude.ai/x", "http://127.0.0.1:1/x", "cursor://a/b")] == [
        "claude.ai",
        "this machine",
        "cursor:",
    ]


def test_an_answer_is_added_to_what_the_address_has():
    assert with_answer("https://a.example/cb", "code=1") == "https://a.example/cb?code=1"
    assert with_answer("https://a.example/cb?x=1", "code=1") == "https://a.example/cb?x=1&code=1"
