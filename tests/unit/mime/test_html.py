"""HTML becomes what a person would see of it (P-95), in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.hypertext.html import cleaned, safe, to_text
from mcp_proton.mime.hypertext.links import differing_host
from mcp_proton.mime.hypertext.markup import DEPTH, End, Start, events
from mcp_proton.mime.structure.parse import parse

from .letters import html_letter, patient

PLAIN = frozenset({"html_converted"})
SHOWN: dict[str, tuple[str, str]] = {
    "paragraphs": ("<p>one</p><p>two</p>", "one\n\ntwo"),
    "blocks and breaks": ("<div>one</div><div>two<br>three</div>", "one\ntwo\nthree"),
    "white space": ("<p>  a \n\t b  <b> c</b> d", "a b c d"),
    "references to characters": ("a &amp; b &lt;c&gt; &#8364; &nbsp;x", "a & b <c> € \xa0x"),
    "an impossible character": ("a&#99999999999999999999;b&#x110000;", "a\ufffdb\ufffd"),
    "lists": ("<ul><li>one<li>two<ul><li>sub</ul></ul><ol><li>a<li>b</ol>", "- one\n- two\n  - sub\n\n1. a\n2. b"),
    "a quote": ("<p>x<blockquote>quoted<p>more</blockquote>y", "x\n\n> quoted\n>\n> more\n\ny"),
    "rows": ("<table><tr><th>Item<th>Price<tr><td>Tea<td>3.50</table>", "Item | Price\nTea | 3.50"),
    "a table for layout": ("<table><tr><td><p>a</p><p>b</p></td></tr></table>", "a\n\nb"),
    "preformatted": ("<pre>a  b\n  c</pre>", "a  b\n  c"),
    "a picture's text": ("<img src=cid:1 alt='Our logo'>", "[image: Our logo]"),
    "a rule": ("a<hr>b", "a\n---\nb"),
    "headings": ("<h1>Title</h1>text", "Title\n\ntext"),
    "no content": ("<head><title>t</title><style>p{}</style></head><script>x</script>text", "text"),
    "a lone less-than": ("1 < 2 and 3<4", "1 < 2 and 3<4"),
    "text in body colours": ("<body bgcolor=#000000 text=#ffffff>light on dark", "light on dark"),
    "white on a dark ground": ("<td style='background:#222'><span style='color:white'>x</span>", "x"),
    "white on a picture": ("<div style='background:url(cid:1)'><span style='color:white'>x</span></div>", "x"),
    "restored font size": ("<div style='font-size:0'><span style='font-size:14px'>x</span></div>", "x"),
    "restored visibility": ("<div style='visibility:hidden'><b style='visibility:visible'>x</b></div>", "x"),
    "hidden on small screens only": ("<style>@media (max-width:600px){.d{display:none}}</style><p class=d>x", "x"),
    "an ordinary height": ("<div style='height:40px;overflow:hidden'>x</div>", "x"),
    "a class shown after all": ("<style>p{display:none} p.on{display:block}</style><p class=on>x", "x"),
}


@pytest.mark.parametrize(("source", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_what_is_seen_is_read(source: str, text: str) -> None:
    rendered = to_text(source)
    assert rendered.text == text
    assert "hidden_text_removed" not in rendered.notices


HIDDEN = {
    "display none": "<div style='display:none'>SECRET</div>",
    "display none, important, spaced": "<div style=' DISPLAY : NONE !important;'>SECRET</div>",
    "display none, escaped": r"<div style='d\69splay:n\6f ne'>SECRET</div>",
    "display none behind a comment": "<div style='/**/display:/**/none'>SECRET</div>",
    "display none, slash for a blank": "<div/style='display:none'>SECRET</div>",
    "visibility hidden": "<p style='visibility:hidden'>SECRET</p>",
    "font size 0": "<span style='font-size:0'>SECRET</span>",
    "font size 1px": "<span style='font-size:1px'>SECRET</span>",
    "font size in em": "<span style='font-size:.01em'>SECRET</span>",
    "font shorthand": "<span style='font:0/0 arial'>SECRET</span>",
    "inherited font size": "<div style='font-size:0'><p><b>SECRET</b></p></div>",
    "no height": "<div style='max-height:0;overflow:hidden'>SECRET</div>",
    "no width": "<div style='width:0px;overflow:hidden'>SECRET</div>",
    "no opacity": "<div style='opacity:0'>SECRET</div>",
    "hardly any opacity": "<div style='opacity:.01'>SECRET</div>",
    "off the screen": "<div style='position:absolute;left:-9999px'>SECRET</div>",
    "text indent": "<div style='text-indent:-9999px'>SECRET</div>",
    "clipped": "<div style='position:absolute;clip:rect(0,0,0,0)'>SECRET</div>",
    "scaled away": "<div style='transform:scale(0)'>SECRET</div>",
    "white on white": "<span style='color:#fff'>SECRET</span>",
    "nearly white on white": "<span style='color:#fefefe'>SECRET</span>",
    "white by name": "<font color=white>SECRET</font>",
    "white as rgb": "<span style='color:rgb(255, 255, 255)'>SECRET</span>",
    "white as hsl": "<span style='color:hsl(0,0%,100%)'>SECRET</span>",
    "transparent": "<span style='color:transparent'>SECRET</span>",
    "no alpha": "<span style='color:rgba(0,0,0,0)'>SECRET</span>",
    "black on black": "<td style='background-color:#000'><span style='color:#010101'>SECRET</span></td>",
    "the colour of a cell": "<table bgcolor=#336699><tr><td><font color=#336699>SECRET</font></table>",
    "a class": "<style>.pre{display:none}</style><div class='a pre b'>SECRET</div>",
    "an id": "<style>#pre{font-size:0}</style><div id=pre>SECRET</div>",
    "an element": "<style>u{color:white}</style><u>SECRET</u>",
    "a descendant": "<style>div.a > p span{display:none}</style><div class=a><p><b><span>SECRET</span></b></p></div>",
    "a rule among others": "<style>h1,.x , td.y{color:#fff;visibility:hidden}</style><i class=x>SECRET</i>",
    "a rule for all screens": "<style>@media screen{.x{display:none}}</style><i class=x>SECRET</i>",
    "a rule in a comment": "<style><!-- .x{display:none} --></style><i class=x>SECRET</i>",
    "hidden": "<p hidden>SECRET</p>",
    "inside something hidden": "<div style='display:none'><div style='display:block'><p>SECRET</p></div></div>",
    "a comment": "<!-- SECRET -->",
    "a conditional comment": "<!--[if mso]><p>SECRET</p><![endif]-->",
    "an unclosed comment": "text<!-- SECRET",
    "a preheader with padding": "<div style='display:none;max-height:0'>SECRET &#847;&zwnj;&nbsp;&#847;&zwnj;</div>",
}


@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_is_hidden_is_removed_and_reported(source: str) -> None:
    """Scenario 6 of the comparison with other servers: text no person sees must not reach an agent."""
    message = parse(html_letter(f"<p>seen</p>{source}<p>also</p>"))
    assert "SECRET" not in message.text
    assert message.text.startswith(("seen", "text"))
    assert "hidden_text_removed" in message.notices
    assert "SECRET" not in safe(f"<p>seen</p>{source}<p>also</p>")


@pytest.mark.parametrize(
    "source",
    [
        "<template>SECRET</template>",
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<title>SECRET</title>",
        "<svg><text>SECRET</text></svg>",
        "<input type=hidden value=SECRET>",
        "<object>SECRET</object>",
    ],
)
def test_what_is_no_content_is_not_read(source: str) -> None:
    assert to_text(f"a{source}b").text.replace(" ", "") == "ab"


def test_links_are_numbered_and_listed_with_their_true_target() -> None:
    source = (
        "<a href='https://a.test/x'>here</a>, <a href=https://b.test>there</a>, <a href='https://a.test/x'>again</a>"
    )
    assert to_text(source).text == "here [1], there [2], again [1]\n\n[1] https://a.test/x\n[2] https://b.test"


def test_a_link_that_is_its_own_text_needs_no_number() -> None:
    assert (
        to_text("<a href='https://a.test/'>https://a.test</a> <a href='mailto:b@x.test'>b@x.test</a>").text
        == "https://a.test b@x.test"
    )


def test_a_link_without_text_is_none() -> None:
    assert (
        to_text("a<a href='https://t.test/?id=1'><img src='https://t.test/1.gif' width=1 height=1 alt=x></a>").text
        == "a"
    )


def test_a_link_that_shows_another_host_is_reported() -> None:
    rendered = to_text("<a href='https://evil.test/login'>www.bank.example</a>")
    assert rendered.text == "www.bank.example [1]\n\n[1] https://evil.test/login (shown as bank.example)"
    assert "link_text_differs" in rendered.notices


HOSTS = [
    ("bank.example", "https://evil.test", "bank.example"),
    ("https://bank.example/login", "https://bank.example.evil.test", "bank.example"),
    ("bank.example", "https://bank.example@evil.test", "bank.example"),
    ("info@bank.example", "mailto:info@evil.test", "bank.example"),
    ("www.bank.example", "https://login.bank.example/x", ""),
    ("shop.bank.example", "https://bank.example", ""),
    ("Click here", "https://evil.test", ""),
    ("Version 1.2.3", "https://evil.test", ""),
    ("bank.example", "https://[broken", ""),
]


@pytest.mark.parametrize(("text", "target", "pretended"), HOSTS)
def test_hosts_are_compared_as_names(text: str, target: str, pretended: str) -> None:
    assert differing_host(text, target) == pretended


def test_what_no_reader_follows_is_shown_but_shortened() -> None:
    assert to_text(f"<a href='javascript:{'x' * 5_000}'>a</a>").text.count("x") < 60


@pytest.mark.parametrize(
    "source",
    [
        "<img src='https://t.test/a.gif'>",
        "<img src='//t.test/a.gif'>",
        "<table background='http://t.test/a.gif'>",
        "<p style='background:url(https://t.test/a)'>",
        "<style>@import 'https://t.test/a.css'</style>",
        "<link rel=stylesheet href='https://t.test/a.css'>",
        "<div style='display:none'><img src='https://t.test/a.gif'></div>",
    ],
)
def test_remote_content_is_reported_and_not_in_the_safe_html(source: str) -> None:
    """P-95: nothing is loaded."""
    assert "remote_content_blocked" in to_text(source).notices
    assert "t.test" not in safe(source)


def test_pictures_inside_the_message_are_not_remote() -> None:
    assert to_text("<img src='cid:1'>").notices == PLAIN
    assert 'src="cid:1"' in safe("<img src='cid:1' alt=a>")


UNSAFE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='data:text/html,x'>x</a>",
    "<form action=/x><button>go</button></form>",
    "<iframe src='https://x.test'></iframe>",
    "<p style='position:fixed'>x</p>",
    "<svg onload=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<meta http-equiv=refresh content='0;url=https://x.test'>",
    "<base href='https://x.test'>",
    "<video poster='https://x.test/a'>",
]


@pytest.mark.parametrize("source", UNSAFE)
def test_safe_html_runs_loads_and_submits_nothing(source: str) -> None:
    """P-95."""
    cleaned = safe(f"<p>kept</p>{source}").lower()
    assert cleaned.startswith("<p>kept</p>")
    for bad in (
        "<script",
        "onerror=",
        "onload=",
        "javascript:",
        "data:",
        "<form",
        "<iframe",
        "style",
        "<svg",
        "<math",
        "<meta",
        "<base",
        "poster",
        "src=",
    ):
        assert bad not in cleaned.replace("&lt;", "")


def test_safe_html_comes_with_what_was_taken_out_of_it() -> None:
    assert cleaned("<p hidden>x</p><img src='https://t.test/a.gif'>").notices == {
        "hidden_text_removed",
        "remote_content_blocked",
    }
    assert cleaned("<p>x</p>") == ("<p>x</p>", frozenset())


def test_safe_html_keeps_text_structure_and_links() -> None:
    assert safe("<h1>T</h1><p>a <b>b</b> <a href='https://x.test'>c</a><ul><li>d</ul>") == (
        '<h1>T</h1><p>a <b>b</b> <a href="https://x.test" rel="noopener noreferrer">c</a></p><ul><li>d</li></ul>'
    )


BOMBS = {
    "twenty thousand divs": "<div>" * 20_000 + "x",
    "a megabyte of divs": "<div>" * 200_000,
    "divs with closing tags that fool": "<div><table></div></table>" * 40_000,
    "formatting that multiplies": "".join(f"<p><b a={n}></p>x" for n in range(60_000)),
    "nested quotes": "<blockquote>" * 400 + "x<br>" * 100_000,
    "nested tables": "<table><tr><td>" * 160 + "x<br>" * 100_000,
    "nested lists": "<ul><li>" * 240 + "x<br>" * 100_000,
    "rows": "<table>" + "<tr><td>x" * 110_000,
    "links": "".join(f"<a href=https://a.b/{n}>www.c.d</a>" for n in range(30_000)),
    "unclosed tags": "<a " * 330_000,
    "unclosed quotes": '<a b="' * 160_000,
    "attributes": "<a " + "x " * 500_000 + ">",
    "unclosed comments": "<!--" * 250_000,
    "unclosed styles": "<style>" * 140_000,
    "style sheets": "<style>" + ".a .b .c{color:red}" * 2_000 + "</style>" + "<div class='a b c'>" * 20_000,
    "braces": "<style>" + "@media x{" * 100_000,
    "declarations": "<style>a{" + "x:" * 400_000,
    "less-than signs": "<" * 1_000_000,
    "digits": "&#" + "9" * 1_000_000,
    "classes": "<p class='" + "a " * 500_000 + "'>x",
    "too much": "<p>text</p>" * 200_000,
}


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_costs_seconds_at_most(source: str) -> None:
    """A-68: bounded tokens and depth. The suite's own time limit is the judge."""
    rendered = to_text(source)
    assert len(rendered.text) <= 2 * len(source) + 1_000
    assert len(safe(source)) <= 8 * len(source) + 1_000


def test_what_was_left_out_is_reported() -> None:
    assert "nested_too_deep" in to_text("<div>" * (DEPTH + 1) + "x").notices
    assert "truncated" in to_text("<p>x" * 40_000).notices
    assert "truncated" in to_text("a" * 2_000_000).notices
    assert "html_damaged" in to_text("text<a href='").notices


PIECES = """< > </ /> <div <p> </p> <td> <tr> <table> </table> <li> <ul> </ul> <a|href='x'> </a> <style> </style>
.a{display:none} |class=a |style='color:#fff' ' " = <!-- --> &# &amp; ; <blockquote> </blockquote> <br> <pre> text <svg>
<![CDATA[ <script> <img|src=https://t.test> <a|href=javascript:x> onload=x"""
MARKUP = st.lists(
    st.sampled_from(
        [*(piece.replace("|", " ") for piece in PIECES.split()), " ", "\n", "\u202e", "\ud800", "\u200b", "\x00"]
    ),
    max_size=60,
).map("".join)


@patient
@given(MARKUP | st.text(max_size=100))
def test_any_markup_gives_visible_text(source: str) -> None:
    rendered = to_text(source)
    rendered.text.encode()
    assert visible(rendered.text).text == rendered.text
    assert len(rendered.text) <= 20 * len(source) + 100
    safe(source).encode()


@patient
@given(MARKUP)
def test_every_start_has_its_end(source: str) -> None:
    stack: list[str] = []
    for event in events(source, set()):
        if isinstance(event, Start):
            stack.append(event.name)
        elif isinstance(event, End):
            assert stack.pop() == event.name
    assert not stack


@patient
@given(MARKUP)
def test_safe_html_holds_nothing_but_what_is_allowed(source: str) -> None:
    for event in events(safe(source), set()):
        if isinstance(event, Start):
            assert event.name not in {"script", "style", "svg", "form", "input", "iframe", "link", "meta", "base"}
            assert event.attributes.keys() <= {"href", "title", "src", "alt", "rel", "colspan", "rowspan"}
            assert not event.attributes.get("src", "").startswith(("http", "//"))
            assert not event.attributes.get("href", "").lower().startswith(("javascript", "data"))
