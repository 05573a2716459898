"""Flags between IMAP's spelling and ours (P-55)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Flag
from mcp_proton.imap.protocol import flags


@pytest.mark.parametrize("flag", list(Flag))
def test_every_flag_of_ours_comes_back_from_imap(flag: Flag) -> None:
    assert flags.ours([flags.theirs(flag).upper()]) == {flag}


def test_recent_says_nothing_and_keywords_stay() -> None:
    assert flags.ours(["\\Recent", "Forwarded", "$Label1", "\\SEEN"]) == {"forwarded", "$Label1", "seen"}


@pytest.mark.parametrize("word", ["", "two words", "\\Custom", "a)", 'a"', "ü", "x" * 65, "a\r\nb"])
def test_what_no_keyword_can_be_is_refused(word: str) -> None:
    with pytest.raises(Invalid):
        flags.theirs(word)


def test_permanent_flags_decide_what_is_kept() -> None:
    assert flags.is_permitted("seen", ["\\Seen"])
    assert not flags.is_permitted("answered", ["\\Seen"])
    assert not flags.is_permitted("$Later", ["\\Seen"])
    assert flags.is_permitted("$Later", ["\\Seen", "\\*"])
    assert not flags.is_permitted("answered", ["\\Seen", "\\*"])
    assert flags.is_permitted("answered", None)
