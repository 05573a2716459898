"""Finding the line of a key in any TOML document."""

from __future__ import annotations

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.storage.access.tomllines import Lines, parse

DOCUMENT = '''# a comment with [brackets] = and "quotes"
preset = "assistant"   # [not.a.table]
long = """
[not.a.table]
key = "value"
"""
raw = \'\'\'
also = 'not' ''
\'\'\'
a.b."c.d" = 1

[accounts.personal]
host = "127.0.0.1"
list = [
  "one", # ]
  { deep = [1,
    2] },
]

[[rules]]
effect = "send"

[[rules]]
effect = ["read",
  "list"]
[[rules.more]]
x = 1
[[rules.more]]
y = { z = "}", w = \'"\' }
[rules.table]
v = 1979-05-27T07:32:00Z
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("preset",), 2),
        (("long",), 3),
        (("raw",), 7),
        (("a",), 10),
        (("a", "b", "c.d"), 10),
        (("accounts", "personal"), 12),
        (("accounts", "personal", "host"), 13),
        (("accounts", "personal", "missing"), 12),
        (("accounts", "personal", "list", 0), 15),
        (("accounts", "personal", "list", 1, "deep"), 16),
        (("accounts", "personal", "list", 1, "deep", 1), 17),
        (("rules",), 20),
        (("rules", 0, "effect"), 21),
        (("rules", 1), 23),
        (("rules", 1, "effect", 1), 25),
        (("rules", 1, "more", 0, "x"), 27),
        (("rules", 1, "more", 1, "y", "z"), 29),
        (("rules", 1, "table", "v"), 31),
        (("nothing",), None),
    ],
)
def test_the_line_of_a_key_is_found(key, line):
    parse(DOCUMENT, "policy.toml")
    assert Lines(DOCUMENT).of(key) == line


def test_what_is_not_toml_is_told_with_its_line():
    with pytest.raises(Misconfigured) as caught:
        parse('a = 1\nb = "open\nc = 2\n', "policy.toml")
    assert str(caught.value).startswith("policy.toml, line 2: is not TOML")
    with pytest.raises(Misconfigured) as caught:
        parse("a = [1,\n2", "policy.toml")
    assert "line 2" in str(caught.value)


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)
values = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), words, st.text(st.sampled_from("\n\"'[]{}=#,.\\ a"), max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=8,
)
documents = st.dictionaries(
    words, st.one_of(values, st.lists(st.dictionaries(words, values, max_size=3), min_size=1, max_size=3)), max_size=5
)


@settings(max_examples=60)
@given(documents)
def test_every_key_of_any_document_has_a_line_that_mentions_it(document):
    text = tomlkit.dumps(document)
    lines, written = Lines(text), text.split("\n")
    for key in _ways(dict(parse(text, ""))):
        line = lines.of(key)
        assert line is not None
        if isinstance(key[-1], str):
            assert tomlkit.key(key[-1]).as_string().strip() in written[line - 1]


def _ways(value, way=()):
    if way:
        yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from _ways(below, (*way, step))
