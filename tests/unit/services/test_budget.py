"""Budgets hold against the real tokeniser, and cutting neither loses nor doubles a character (N-11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.services.presenting.budget import cut, tokens
from tests.o200k import count

PROSE = {
    "english": "The board has said yes to the new wing, and the budget is attached to this letter. ",
    "german": "Die Stadtwerke haben uns die Abrechnung für das vergangene Jahr geschickt. ",
    "chinese": "我们已经收到了您的来信，并将尽快回复您的问题。",
    "russian": "Мы получили ваше письмо и ответим на него как можно скорее. ",
    "arabic": "لقد استلمنا رسالتكم وسوف نرد عليها في أقرب وقت ممكن. ",
    "code": '{"handle":"personal.ei5nnz.sd2egw-2n9c","date":"2026-11-30T10:15:00Z","unread":true},',
    "links": "[1] https://example.org/path/to/page?utm_source=newsletter&id=8f3a9c2e7b1d ",
}


@pytest.mark.parametrize("language", PROSE)
def test_the_estimate_is_not_below_what_a_model_would_count(language: str) -> None:
    text = PROSE[language] * 40
    assert tokens(text) >= 0.85 * count(text)


@given(st.text(max_size=400), st.integers(5, 60))
def test_pieces_put_together_are_the_whole_text(text: str, budget: int) -> None:
    pieces, start = [], 0
    while True:
        piece, after = cut(text, budget, start)
        assert tokens(piece) <= budget
        pieces.append(piece)
        if after is None:
            break
        assert after > start
        start = after
    assert "".join(pieces) == text
