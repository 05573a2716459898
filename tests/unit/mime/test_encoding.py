"""Transfer encodings: whole, cut, streamed and broken."""

from __future__ import annotations

import base64
import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.decoding.encoding import Decoder, decode
from mcp_proton.mime.structure.parse import parse

from .letters import b64, letter, patient

DAMAGED = frozenset({"transfer_encoding_damaged"})
CASES: dict[str, tuple[str, bytes, bytes, frozenset[str]]] = {
    "junk between letters": ("base64", b"aGVs*bG8g!!\r\nYm9k\r\neQ==", b"hello body", DAMAGED),
    "no padding": ("base64", b"aGVsbG8gYm9keQ", b"hello body", frozenset()),
    "a list's footer": ("base64", b"aGVsbG8gYm9keQ==\r\n\r\n-- \r\nlist footer\r\n", b"hello body", DAMAGED),
    "several padded runs": ("base64", b"aGVsbG8=\r\nIGI=\r\nb2R5", b"hello body", frozenset()),
    "text that never was base64": ("base64", b"hello body\r\n", b"hello body\r\n", DAMAGED),
    "one letter too many": ("base64", b"aGVsbG8gYm9keQ=\r\nA", b"hello body", DAMAGED),
    "escapes that are none": ("quoted-printable", b"a=20b =XY =\r\n=3", b"a b =XY =3", DAMAGED),
    "lower-case escapes": ("quoted-printable", b"=c3=bc", "ü".encode(), frozenset()),
    "blanks behind a soft break": ("quoted-printable", b"a= \t\r\nb", b"ab", frozenset()),
    "a soft break at the end": ("quoted-printable", b"a=\r\n", b"a", frozenset()),
    "uuencode": ("x-uuencode", b"begin 644 a.txt\r\n#86)C\r\n`\r\nend\r\n", b"abc", frozenset()),
    "unknown": ("8-bits", b"hello", b"hello", frozenset()),
}


@pytest.mark.parametrize(("name", "encoded", "octets", "notices"), CASES.values(), ids=CASES.keys())
def test_what_is_broken_is_read_as_far_as_it_means_anything(
    name: str, encoded: bytes, octets: bytes, notices: frozenset[str]
) -> None:
    assert decode(encoded, name) == (octets, notices)


FIELDS = ["base64", " BASE64 ", "base64 (really)", '"base64"', "base64;"]


@pytest.mark.parametrize("field", FIELDS)
def test_the_name_of_the_encoding_is_understood_with_its_trimmings(field: str) -> None:
    assert parse(letter(f"Content-Transfer-Encoding: {field}", body=b64(b"hello body"))).text == "hello body"


def test_an_encoding_that_a_multipart_may_not_have_is_ignored() -> None:
    body = "--BB\r\n\r\nhello body\r\n--BB--\r\n"
    raw = letter("Content-Transfer-Encoding: base64", content_type="multipart/mixed; boundary=BB", body=body)
    assert parse(raw).text == "hello body"


@patient
@given(
    st.binary(max_size=400), st.sampled_from(["base64", "quoted-printable"]), st.lists(st.integers(1, 50), min_size=1)
)
def test_a_stream_decodes_alike_in_any_chunks(octets: bytes, name: str, sizes: list[int]) -> None:
    octets = octets if name == "base64" else octets.replace(b"\r", b"")
    encoded = base64.encodebytes(octets) if name == "base64" else quopri.encodestring(octets, quotetabs=True)
    decoder, at, decoded = Decoder(name), 0, b""
    for turn in range(len(encoded) + 1):
        size = sizes[turn % len(sizes)]
        decoded += decoder.feed(encoded[at : at + size])
        at += size
    assert decoded + decoder.finish() == octets
    assert not decoder.notices


@patient
@given(st.binary(max_size=200), st.sampled_from(["base64", "quoted-printable"]), st.integers(0, 300))
def test_a_prefix_decodes_to_a_prefix_and_says_so(octets: bytes, name: str, cut: int) -> None:
    octets = octets if name == "base64" else octets.replace(b"\r", b"")
    encoded = base64.encodebytes(octets) if name == "base64" else quopri.encodestring(octets, quotetabs=True)
    decoded, notices = decode(encoded[:cut], name, complete=False)
    assert octets.startswith(decoded)
    assert len(decoded) >= min(cut, len(encoded)) // 4 - 3
    assert notices == {"truncated"}


@patient
@given(st.binary(max_size=300), st.sampled_from(["base64", "quoted-printable", "uuencode", "7bit", "?"]), st.booleans())
def test_no_octets_raise(encoded: bytes, name: str, complete: bool) -> None:
    assert len(decode(encoded, name, complete=complete).octets) <= len(encoded) + 3


def test_twenty_five_megabytes_stream_within_their_chunks() -> None:
    decoder, line = Decoder("base64"), base64.encodebytes(bytes(57))
    total = sum(len(decoder.feed(line * 1_000)) for _ in range(450)) + len(decoder.finish())
    assert total == 57 * 1_000 * 450
