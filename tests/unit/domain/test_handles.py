"""Handles name one occurrence, and nothing that is not exactly one is taken for one (P-90)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle, mailbox_tag

slugs = st.from_regex(r"[a-z][a-z0-9-]{0,15}", fullmatch=True)
keys = st.from_regex(r"[A-Za-z0-9_-]{1,60}", fullmatch=True)


@given(slugs, st.text(max_size=40), keys)
def test_a_handle_round_trips(account: str, mailbox: str, key: str) -> None:
    handle = Handle(account, mailbox_tag(mailbox), key)
    assert Handle.parse(str(handle)) == handle


@given(st.text(max_size=60))
def test_whatever_is_not_a_handle_is_refused_by_one_of_our_errors(text: str) -> None:
    try:
        handle = Handle.parse(text)
    except Invalid as error:
        assert text not in error.message or len(text) < 3
    else:
        assert str(handle) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "personal",
        "personal.abcdef",
        "personal.abcdef.",
        "Personal.abcdef.1-2",
        "personal.abcde1.1-2",
        "personal.abcdef.1-2\n",
        " personal.abcdef.1-2",
        "personal.abcdef.1/2",
        "personal.abcdef.1-2.3",
        "personal.abcdef." + "a" * 256,
    ],
)
def test_a_near_miss_is_not_a_handle(text: str) -> None:
    with pytest.raises(Invalid):
        Handle.parse(text)


def test_a_tag_tells_nothing_of_the_mailbox_name() -> None:
    assert mailbox_tag("Folders/Divorce") == mailbox_tag("Folders/Divorce")
    assert "div" not in mailbox_tag("Folders/Divorce")
    assert len({mailbox_tag(f"Folders/{n}") for n in range(200)}) == 200
