"""Whether two messages are the same, and how one is handed over from server to server (N-13)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_proton.mime.handover import Handover
from mcp_proton.mime.likeness import Likeness, LikenessReader

HEAD = (
    b"From: Anna <anna@example.org>\r\nTo: me@example.org\r\nSubject: =?utf-8?q?caf=C3=A9?=\r\nMessage-ID: <1@x>\r\n"
    b"Date: Mon, 30 Nov 2026 10:00:00 +0000\r\n"
)
PLAIN = HEAD + b"Content-Type: text/plain; charset=utf-8\r\n\r\nd\xc3\xa9j\xc3\xa0 vu\r\n"
FILE = b"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n%s\r\n--b--\r\n"
MIXED = HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n" + FILE


def read(raw: bytes, step: int = 7) -> Likeness:
    reader = LikenessReader()
    for start in range(0, len(raw), step):
        reader.feed(raw[start : start + step])
    return reader.finish()


def like(one: bytes, other: bytes) -> bool:
    return read(one).content == read(other).content


@pytest.mark.parametrize(
    "rebuilt",
    [
        PLAIN.replace(b"d\xc3\xa9j\xc3\xa0 vu", b"d=C3=A9j=\r\n=C3=A0 vu").replace(
            b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", 1
        ),
        PLAIN.replace(b"utf-8\r\n\r\nd\xc3\xa9j\xc3\xa0", b"iso-8859-1; format=flowed\r\n\r\nd\xe9j\xe0"),
        PLAIN.replace(b" vu", b"\r\n   vu  \r\n"),
        PLAIN.replace(b"From: Anna <", b"X-More: 1\r\nFrom: <"),
        PLAIN.replace(b"10:00:00 +0000", b"12:00:00 +0200"),
        HEAD
        + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        + b"d\xc3\xa9j\xc3\xa0 vu\r\n--b\r\nContent-Type: text/plain\r\n\r\n\r\n--b--\r\n",
    ],
    ids=["encoding", "charset", "white space", "header lines", "zone", "an empty text more"],
)
def test_what_a_server_rebuilds_is_the_same(rebuilt: bytes) -> None:
    """B-06."""
    assert rebuilt != PLAIN
    assert like(PLAIN, rebuilt)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b" vu", b" lu"),
        (b" vu\r\n", b" vu\r\nFrom me\r\n"),
        (b"caf=C3=A9", b"cafe"),
        (b"<1@x>", b"<2@x>"),
        (b"To: me@", b"To: you@"),
        (b"To: me@example.org", b"To: me@example.org, you@example.org"),
        (b"30 Nov", b"29 Nov"),
        (b"text/plain", b"text/html"),
        (b"d\xc3\xa9j\xc3\xa0 vu\r\n", b""),
    ],
)
def test_what_says_something_else_is_not_the_same(was: bytes, now: bytes) -> None:
    assert was in PLAIN
    assert not like(PLAIN, PLAIN.replace(was, now))


def test_an_attachment_is_compared_to_the_octet_in_whatever_encoding_and_order() -> None:
    as_text, as_base64 = MIXED % b"\r\n\x01\x02\x03", MIXED % b"Content-Transfer-Encoding: base64\r\n\r\nAQID"
    assert like(as_text, as_base64)
    assert not like(as_text, MIXED % b"\r\n\x01\x02\x04")
    assert not like(as_text, MIXED % b"\r\n\x01\x02")
    other = as_base64.replace(b"a.pdf", b"b.pdf")
    assert like(as_base64, other)
    assert read(as_base64).names != read(other).names, "a lost name is told, and no other message"


def test_an_octet_that_looks_like_a_line_end_counts_in_an_encoded_attachment() -> None:
    """A copy that lost it is not the same, and nothing may be removed for it."""
    encoded = MIXED.replace(b"application/pdf\r\n", b"application/pdf\r\nContent-Transfer-Encoding: base64\r\n")
    assert not like(encoded % b"\r\nQQ0KQg==", encoded % b"\r\nQQpC")
    assert like(MIXED % b"\r\nA\r\nB", MIXED % b"\r\nA\nB")


def test_an_attachment_twice_is_not_an_attachment_once() -> None:
    once = MIXED % b"\r\nabc"
    part = b"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\nabc\r\n"
    assert not like(once, once.replace(b"--b--", part + b"--b--"))


def test_what_it_answers_is_told_apart_without_what_bridge_adds() -> None:
    """B-09."""
    answer = PLAIN.replace(b"Subject", b"References: <0@x>\r\nSubject")
    bridged = answer.replace(b"<0@x>", b"<0@x> <abc@protonmail.internalid>")
    assert read(answer).thread == read(bridged).thread != read(PLAIN).thread


@given(st.binary(max_size=400), st.integers(1, 9))
@example(b"\xef\xbb\xbf", 1)
def test_any_octets_are_read_in_any_pieces(octets: bytes, step: int) -> None:
    for raw in (octets, MIXED % octets, PLAIN + octets):
        assert read(raw, step) == read(raw, len(raw) or 1)


def handed(
    raw: bytes, step: int = 5, message_id: str = "", dated: datetime | None = None
) -> tuple[bytes, tuple[str, ...]]:
    over = Handover(message_id, dated)
    passed = b"".join(over.feed(raw[start : start + step]) for start in range(0, len(raw), step))
    return passed + over.finish(), over.added


def test_a_message_is_handed_over_as_it_is() -> None:
    assert handed(PLAIN) == (PLAIN, ())
    assert handed(PLAIN, message_id="<made@x>", dated=datetime(2020, 1, 1, tzinfo=UTC)) == (PLAIN, ())


def test_what_names_an_occurrence_of_another_server_is_left_behind() -> None:
    """B-05, B-09."""
    named = b"X-Pm-Gluon-Id: 1\r\n" + PLAIN.replace(b"Subject", b"x-pm-internal-ID: 2\r\n  folded\r\nSubject")
    assert handed(named)[0] == PLAIN
    quoted = PLAIN + b"X-Pm-Gluon-Id: in the text\r\n"
    assert handed(quoted)[0] == quoted


def test_other_line_ends_become_those_of_mail() -> None:
    assert handed(PLAIN.replace(b"\r\n", b"\n"))[0] == PLAIN
    assert handed(PLAIN.replace(b"\r\n", b"\r"))[0] == PLAIN


def test_a_missing_message_id_and_date_are_given() -> None:
    bare = b"From: a@x\r\nMessage-ID: none\r\n\r\nhello\r\n"
    passed, added = handed(bare, message_id="<made@x>", dated=datetime(2020, 1, 1, tzinfo=UTC))
    assert passed == b"Message-ID: <made@x>\r\nDate: Wed, 01 Jan 2020 00:00:00 +0000\r\n" + bare
    assert added == ("Message-ID", "Date")


@given(st.binary(max_size=300), st.integers(1, 9))
def test_any_octets_are_handed_over_alike_in_any_pieces(octets: bytes, step: int) -> None:
    for raw in (octets, PLAIN + octets, b"X-Pm-A: b\r\n" + octets):
        assert handed(raw, step) == handed(raw, len(raw) or 1)
