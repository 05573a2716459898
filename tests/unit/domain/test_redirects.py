"""Where an answer may be sent: what the owner allowed, to the letter; on this machine with any port."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.redirects import (
    SHIPPED,
    is_named,
    is_of_a_scheme,
    is_rule,
    private_scheme,
    program,
    with_answer,
)

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
    assert is_named(address, ALLOWED) is expected


def test_an_empty_list_allows_nothing():
    """J-86: it fails closed."""
    assert not any(is_named(one, []) or is_of_a_scheme(one, []) for one in (*SHIPPED, *ALLOWED, "claude://a/b"))


def test_what_is_shipped_is_claude_and_this_machine():
    """J-93, A-34: Claude's own addresses are exact, and of what is on a person's device its own two schemes are allowed."""
    assert is_named("https://claude.ai/api/mcp/auth_callback", SHIPPED)
    assert is_named("https://claude.com/api/mcp/auth_callback", SHIPPED)
    assert is_named("http://localhost:52814/callback", SHIPPED)
    assert not is_named("https://claude.ai/api/mcp/auth_callback/", SHIPPED)
    assert not is_named("https://evil.claude.ai/api/mcp/auth_callback", SHIPPED)
    assert not is_named("https://claude.ai.evil.com/api/mcp/auth_callback", SHIPPED)
    assert is_of_a_scheme("claude://claude.ai/mcp/callback", SHIPPED)
    assert is_of_a_scheme("cowork://callback", SHIPPED)
    assert all(is_rule(one) for one in SHIPPED)


@pytest.mark.parametrize(
    "address",
    [
        "claude-evil://claude.ai/cb", "xclaude://a/cb", "claudes://a/cb", "CLAUDE://a/cb", "Claude://a/cb", "claude.evil://a/cb",
        "claude+x://a/cb", "claude:javascript", "claude:/cb", "claude:cb", "claude:", "claude://", "claude:///cb",
        "claude://a/cb#f", "claude://a/cb#", "claude://u@a/cb", "claude://a:1/cb", "claude://a/cb?code=x", "claude://a/cb?",
        "claude://a/c b", " claude://a/cb", "claude://a/cb\n", "claude://a/cb\r\nx:y", "claude://a/\x00", "claude://a/\x7f",
        "claude://a/%0d%0a", "claude://a\\b", "claude://a/<b>", "claude://ä/cb", "claude://a/ｃb", f"claude://{'a' * 129}",
        f"claude://a/{'a' * 129}", "javascript://a/cb", "data://a/cb", "data:text/html,claude://a", "https://claude/cb",
        "http://claude.ai/api/mcp/auth_callback", "https://claude.ai.evil.com/api/mcp/auth_callback",
        "https://claude.ai@evil.com/api/mcp/auth_callback", "https://xn--clude-2xa.ai/api/mcp/auth_callback",
        "http://claude:1/callback", "//claude/cb",
    ],
)  # fmt: skip
def test_a_scheme_that_is_allowed_opens_no_way_beside_it(address):
    """J-93: exactly the scheme, in lower case; nothing in the address that could mean more than a place."""
    assert not is_of_a_scheme(address, SHIPPED)
    assert not is_named(address, SHIPPED)


@pytest.mark.parametrize("rule", ["cursor://", "claude", "claude:", "CLAUDE://", "https://", "http://", "://", "*"])
def test_no_other_scheme_is_allowed_as_a_whole(rule):
    """J-93: a rule that is none is refused when the config is read, and allows nothing."""
    assert not is_rule(rule)
    assert not is_of_a_scheme("cursor://a/cb", [rule])
    assert not is_of_a_scheme("claude://a/cb", [rule])


def test_a_scheme_is_taken_out_of_the_list_like_any_other_rule():
    """J-93."""
    assert not is_of_a_scheme("cowork://a/cb", ["claude://"])
    assert is_named("cowork://a/cb", ["claude://", "cowork://a/cb"])


@given(st.text(max_size=60))
def test_any_text_is_read_without_a_fault_and_never_as_more_than_it_is(address):
    if is_named(address, ALLOWED):
        assert address in ALLOWED or address.startswith(("http://127.0.0.1", "http://localhost"))


def test_a_person_is_shown_where_an_answer_goes():
    assert [program(one) for one in ("https://claude.ai/x", "http://127.0.0.1:1/x", "cursor://a/b", "cowork://a")] == [
        "claude.ai",
        "this machine",
        "cursor:",
        "Cowork (cowork:)",
    ]
    assert [private_scheme(one) for one in ("https://claude.ai/x", "http://[::1]/x", "claude://a")] == [
        None,
        None,
        "claude",
    ]


def test_an_answer_is_added_to_what_the_address_has():
    assert with_answer("https://a.example/cb", "code=1") == "https://a.example/cb?code=1"
    assert with_answer("https://a.example/cb?x=1", "code=1") == "https://a.example/cb?x=1&code=1"
