"""Addresses to write to mean what they say to the letter, or nothing (P-60, J-137)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_proton.domain.mail import Address
from mcp_proton.services.writing.addressees import key, people, read


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a@b.example", [Address("", "a@b.example")]),
        ("  Anna Example <a@b.example> ", [Address("Anna Example", "a@b.example")]),
        ('"Doe, Jane" <j@x.example>, b@c.example,', [Address("Doe, Jane", "j@x.example"), Address("", "b@c.example")]),
        ("Jörg\u00a0Müller <j@bücher.example>", [Address("Jörg Müller", "j@xn--bcher-kva.example")]),
        ("A.B+tag@Sub.Example", [Address("", "A.B+tag@Sub.Example")]),
    ],
)
def test_addresses_are_read(text: str, found: list[Address]) -> None:
    assert read(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a", "@b.example", "a@", "a@b@c", "a b@c.example", "a@b c.example", "<a@b.example", "a@b.example>",
        "X <a@b.example> Y", "a@b.example, , c@d.example", "a@b.example\r\nBcc: e@f.example", "a@b.example\x00",
        "group: a@b.example;", "a@b.example; c@d.example", '"a b"@c.example', "<>", "a..b@c.example", "a@-b.example",
        "a@b.example\u2028c",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        read(text)


def test_a_person_is_named_once_whatever_the_case() -> None:
    assert people(["a@b.example", "Anna <A@B.EXAMPLE>, c@d.example"]) == (
        Address("", "a@b.example"),
        Address("", "c@d.example"),
    )
    assert key("A@B.example") == key("a@b.EXAMPLE")


@given(st.text(max_size=200))
@example('" <a@b.example>')
@example("\\ <a@b.example>")
@example(" " * 100 + "<")
def test_what_is_read_can_be_written_and_read_again_as_the_same(text: str) -> None:
    try:
        found = read(text)
    except ValueError:
        return
    assert found
    for one in found:
        assert one.email.count("@") == 1
        assert not any(ord(c) < 0x20 or c in "<>,; " for c in one.email)
        assert read(str(one)) == [one]
