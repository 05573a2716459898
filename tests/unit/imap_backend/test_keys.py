"""Keys of handles on IMAP (P-90)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.imap import keys

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

NUMBERS = st.integers(1, keys.LARGEST)


@UNHURRIED
@given(NUMBERS, NUMBERS)
def test_a_key_gives_back_the_numbers_it_was_made_of(uidvalidity: int, uid: int) -> None:
    assert keys.read(keys.write(uidvalidity, uid)) == (uidvalidity, uid)


@UNHURRIED
@given(st.text(alphabet="0123456789abcz-_AZ.", max_size=18))
def test_a_text_that_no_key_is_spelled_like_is_refused(text: str) -> None:
    with contextlib.suppress(Invalid):
        assert keys.write(*keys.read(text)) == text


@pytest.mark.parametrize("text", ["", "1", "-", "0-1", "1-0", "01-1", "1z141z4-1", "1-1z141z4", "A-1", "1-1\n", "1--1"])
def test_malformed_keys_are_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        keys.read(text)


def test_a_handle_is_short_and_parses_again() -> None:
    box = Mailbox("personal", "INBOX", "INBOX", Role.INBOX)
    handle = keys.handle(box, 1_711_540_000, 123_456)
    assert Handle.parse(str(handle)) == handle
    assert len(str(handle)) <= 30
