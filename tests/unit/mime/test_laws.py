"""What holds of every message: it parses, in bounds, to text that can be shown and written."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.decoding.text import decode, unfold
from mcp_proton.mime.structure.outline import outline
from mcp_proton.mime.structure.parse import parse, section, structure

from .letters import TEXT, b64, file, letter, part, patient, several

SEEDS = [
    letter(),
    letter("Content-Transfer-Encoding: base64", body=b64("Grüße".encode())),
    letter("Content-Transfer-Encoding: quoted-printable", body="a=C3=BC=\r\nb"),
    several(
        TEXT, part("text/html", "<p style='color:#fff'>x</p><a href='https://a.test'>b.test</a>"), subtype="alternative"
    ),
    several(
        TEXT,
        b"Content-Type: message/rfc822\r\n\r\n" + several(TEXT, boundary="CC"),
        file("attachment; filename*0*=utf-8''a; filename*1=b"),
    ),
    letter("Subject: =?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=", "From: =?x?Q?a?= <b@c>, Team: d@e;", body="\u202etext"),
]
WORDS = [
    b"--BB",
    b"--BB--",
    b"\r\n",
    b"\n",
    b"\r",
    b"Content-Type: ",
    b"multipart/mixed; boundary=",
    b"text/html",
    b"=?utf-8?Q?",
    b"?=",
    b'"',
    b";",
]
WORDS += [
    b"charset=",
    b"utf-16",
    b"base64",
    b"Content-Transfer-Encoding: ",
    b"message/rfc822",
    b"\xff\xfe",
    b"\x00",
    b"filename*0*=",
    b"<div",
    b"=",
    b":",
    b" ",
]


def holds(raw: bytes) -> None:
    message = parse(raw)
    shown = [
        message.text,
        *(text for pair in message.headers for text in pair),
        *(one.filename for one in message.attachments),
    ]
    for text in [*shown, message.html or ""]:
        text.encode()
    for text in shown:
        assert visible(text).text == text
    assert len(message.text) <= 1 << 18
    assert len(structure(raw).walk()) <= 1_001
    assert [one.index for one in message.attachments] == list(range(1, len(message.attachments) + 1))
    for one in message.attachments:
        octets = section(raw, one.part.path)
        assert octets is not None
        assert len(octets) == one.size


@patient
@given(st.binary(max_size=400) | st.lists(st.sampled_from(WORDS), max_size=40).map(b"".join))
def test_any_octets_are_a_message(raw: bytes) -> None:
    holds(raw)


@patient
@given(
    st.sampled_from(SEEDS),
    st.lists(
        st.tuples(st.integers(0, 1_500), st.integers(0, 8), st.sampled_from(WORDS) | st.binary(max_size=4)), max_size=6
    ),
)
def test_any_mutation_of_a_message_is_a_message(raw: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    for at, cut, word in changes:
        place = at % (len(raw) + 1)
        raw = raw[:place] + word + raw[place + cut :]
    holds(raw)


@patient
@given(st.sampled_from(SEEDS), st.integers(0, 1_500))
def test_any_prefix_of_a_message_is_a_message(raw: bytes, cut: int) -> None:
    holds(raw[:cut])


@patient
@given(st.integers())
def test_shuffled_lines_are_a_message(seed: int) -> None:
    lines = b"".join(SEEDS).splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    holds(b"".join(lines))


@patient
@given(st.sampled_from(SEEDS), st.integers(0, 400))
def test_a_part_that_was_cut_reads_as_the_beginning_of_the_whole(raw: bytes, cut: int) -> None:
    found = outline(raw)
    for one in found.root.walk():
        octets = found.octets(one)
        if one.media_type == "text/plain" and cut < len(octets):
            piece = decode(one, octets[:cut], complete=False)
            assert decode(one, octets).text.startswith(piece.text.rstrip("\n"))
            assert "truncated" in piece.notices


@patient
@given(st.lists(st.text("abc ", min_size=1, max_size=10).map(str.strip).filter(bool), min_size=1, max_size=6))
def test_flowed_lines_join_to_what_was_written(words: list[str]) -> None:
    assert unfold(" \n".join(words)) == " ".join(words)


def test_quotes_and_signatures_keep_their_lines_when_flowed() -> None:
    assert unfold("> a \n> b\n-- \nme \nhere") == "> a b\n-- \nme here"
    assert unfold(">> a \n> b") == ">> a \n> b"


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: " + b"=?utf-8?Q?a" * 30_000,
        b"From: " + b'"\\"' * 100_000,
        b"From: " + b"(" * 200_000,
        b"To: " + b"<" * 200_000,
        b"Content-Type: text/plain" + b';a="' * 60_000,
        b"Content-Type: multipart/mixed\r\n\r\n" + b"--" * 300_000,
        b"A:\r\n " * 60_000,
        b"\r\n--x" * 100_000,
        b"References: " + b"<a" * 200_000,
    ],
)
def test_fields_made_to_take_long_take_seconds_at_most(raw: bytes) -> None:
    """The suite's time limit is the judge."""
    holds(raw + b"\r\n\r\nx")
