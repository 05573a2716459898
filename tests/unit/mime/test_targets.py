"""Where links lead, as they really are (N-6)."""

from __future__ import annotations

import pytest

from mcp_proton.mime.hypertext.targets import Target, in_html, in_text


def test_links_of_plain_text_are_found_without_the_punctuation_behind_them() -> None:
    assert in_text("See https://a.example/x?y=1, and (www.b.example). https://a.example/x?y=1!") == (
        Target("https://a.example/x?y=1"),
        Target("www.b.example"),
    )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('<a href="https://evil.example/">https://bank.example</a>', Target("https://evil.example/", "bank.example")),
        ('<a href="https://bank.example/a">bank.example</a>', Target("https://bank.example/a")),
        ('<a href="https://evil.example"><b>www.bank</b>.example', Target("https://evil.example", "bank.example")),
        ('<div style="display:none"><a href="https://x.example">x</a></div>', Target("https://x.example")),
        ('<area href="https://x.example">', Target("https://x.example")),
        ('<form action="https://x.example"><input></form>', Target("https://x.example")),
        ('<img src="https://x.example/pixel.gif" width=1>', Target("https://x.example/pixel.gif", loaded=True)),
        ('<img src="//x.example/p">', Target("//x.example/p", loaded=True)),
        ('<a href="java\nscript:alert(1)">x</a>', Target("java script:alert(1)")),
    ],
)
def test_every_target_of_html_is_found_hidden_or_not(source: str, found: Target) -> None:
    assert in_html(source) == (found,)


def test_pictures_that_come_along_load_nothing() -> None:
    assert in_html('<img src="cid:logo@x"><img src="data:image/png;base64,AA=="><p>text</p>') == ()


def test_a_link_inside_a_link_is_not_lost() -> None:
    assert [one.url for one in in_html('<a href="https://a.example">one<a href="https://b.example">two</a>')] == [
        "https://a.example",
        "https://b.example",
    ]
